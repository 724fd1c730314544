// Package docs carries the documents that the binary ships. It imports nothing
// of the project and starts no goroutine.
package docs

import _ "embed"

// OpenAPI is the description of the API, openapi.yaml of this directory.
//
//go:embed openapi.yaml
var OpenAPI []byte
