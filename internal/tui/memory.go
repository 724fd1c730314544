package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// memory is what the dashboard remembers from one time to the next, in the file
// tui.json of its state directory. An unknown or missing value is the default.
type memory struct {
	Screen     string  `json:"screen"`
	Approvals  listing `json:"approvals"`
	Executions listing `json:"executions"`
}

// listing is how a list was shown.
type listing struct {
	Sort    string `json:"sort"`
	Reverse bool   `json:"reverse"`
	Filter  string `json:"filter"`
	Preview *bool  `json:"preview,omitempty"`
}

func memoryFile(dir string) string { return filepath.Join(dir, "tui.json") }

// loadMemory reads the file; no file is no memory.
func loadMemory(dir string) (s memory, err error) {
	b, err := os.ReadFile(memoryFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read what was remembered: %w", err)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return memory{}, fmt.Errorf("read %s: %w", memoryFile(dir), err)
	}
	return s, nil
}

// save writes the file whole or not at all, readable by its owner only.
func (s memory) save(dir string) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	f, err := os.CreateTemp(dir, ".tui-*.json")
	if err != nil {
		return fmt.Errorf("remember the screen: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), memoryFile(dir))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error that matters is the first
		return fmt.Errorf("remember the screen: %w", err)
	}
	return nil
}

// memory is what there is to remember now.
func (m *Model) memory() memory {
	screen := m.screen
	if screen >= scrDetail {
		screen = m.list()
	}
	name := screenNames[screen]
	if name == m.opt.Screen { // it was asked for this once
		name = m.recalled
	}
	return memory{
		Screen:     name,
		Approvals:  listing{apSorts[m.ap.sort].name, m.ap.desc, m.ap.filter, &m.ap.preview},
		Executions: listing{exSorts[m.ex.sort].name, m.ex.desc, m.ex.filter, &m.ex.preview},
	}
}

// remember shows what was remembered. A screen that was asked for wins.
func (m *Model) remember(s memory) {
	m.recalled = s.Screen
	if i := slices.Index(screenNames[:scrDetail], s.Screen); i >= 0 && m.opt.Screen == "" {
		m.screen, m.hist = screenID(i), history{}
		m.hist.note(m.spot())
	}
	for i, o := range apSorts {
		if o.name == s.Approvals.Sort {
			m.ap.sort = i
		}
	}
	for i, o := range exSorts {
		if o.name == s.Executions.Sort {
			m.ex.sort = i
		}
	}
	m.ap.desc, m.ex.desc = s.Approvals.Reverse, s.Executions.Reverse
	m.ap.filter, m.ap.parsed = s.Approvals.Filter, parseFilter(s.Approvals.Filter)
	m.ex.filter, m.ex.parsed = s.Executions.Filter, parseFilter(s.Executions.Filter)
	if p := s.Approvals.Preview; p != nil {
		m.ap.preview = *p
	}
	if p := s.Executions.Preview; p != nil {
		m.ex.preview = *p
	}
	if f := m.filtered(); f != "" {
		m.say("the filter of last time is on: %s (%s clears it)", text.Clean(f), m.keys.name(actBack))
	}
}

// The log keeps errors beyond the end of the dashboard.
const (
	logQueue = 256     // lines that wait to be written; more are left out
	logSize  = 1 << 20 // bytes, from which on it is begun anew; one old one is kept
)

// journal is the log file: lines go in without waiting, a goroutine writes them.
type journal struct {
	lines chan string
	done  sync.WaitGroup
}

// openJournal begins to write to the file tui.log of a directory.
func openJournal(dir string) (*journal, error) {
	path := filepath.Join(dir, "tui.log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > logSize {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("begin the log anew: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	j := &journal{lines: make(chan string, logQueue)}
	j.done.Go(func() {
		for l := range j.lines {
			_, _ = fmt.Fprintln(f, l) // there is no other place to tell
		}
		_ = f.Close()
	})
	return j, nil
}

// note hands a line over; when too many wait, it is left out.
func (j *journal) note(at time.Time, what string) {
	if j == nil {
		return
	}
	select {
	case j.lines <- at.UTC().Format(time.RFC3339) + " " + what:
	default:
	}
}

// close writes what waits.
func (j *journal) close() {
	if j != nil {
		close(j.lines)
		j.done.Wait()
	}
}
