package cli

import (
	"time"

	"github.com/agentkernel/kernelctl/internal/cli/iostreams"
	"github.com/agentkernel/kernelctl/internal/version"
)

// factory is what every command is built with.
type factory struct {
	io      *iostreams.Streams
	env     iostreams.LookupEnv
	version version.Info
	now     func() time.Time
	shapes  map[string]shape // what commands print as JSON, by the name of the schema
	place   string           // flags that say where the command in force goes; see hint
	format  string           // of the last command that got as far as its settings; for its error
}
