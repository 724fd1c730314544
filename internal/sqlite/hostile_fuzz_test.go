package sqlite_test

import (
	"encoding/binary"
	"os"
	"sync"
	"testing"
)

// FuzzDamagedFiles edits the files of a database as the input says: each five
// bytes are a place and what is changed there, in the file or in its log; four
// are where one of them is cut off. A failure keeps the files, for ids and times
// in them are never the same again.
//
//	go test ./internal/sqlite -run - -fuzz FuzzDamagedFiles -fuzztime 5m
func FuzzDamagedFiles(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 18, 1})
	f.Add([]byte{0, 1, 0, 0, 0xff, 0x80, 0, 0, 20, 7})
	f.Add([]byte{0, 0, 0x10, 0, 5, 0x80, 0, 0x20, 0})
	f.Add([]byte{0x80, 0, 0, 33, 0xff, 0, 2, 0, 0})
	var once sync.Once
	var s *specimen
	f.Fuzz(func(t *testing.T, edits []byte) {
		once.Do(func() { s = newSpecimen(t) })
		file, log := apply(s.file, s.log, edits)
		s.judge(t, "edited", file, log, nil)
		if t.Failed() {
			keep(t, file, log)
		}
	})
}

// inLog marks a place in the log, and not in the file.
const inLog = 1 << 31

// apply edits copies of the two files.
func apply(file, log, edits []byte) (f, l []byte) {
	f, l = append([]byte{}, file...), append([]byte{}, log...)
	for ; len(edits) >= 5; edits = edits[5:] {
		place := binary.BigEndian.Uint32(edits)
		in := f
		if place&inLog != 0 {
			in = l
		}
		in[int(place&^inLog)%len(in)] ^= edits[4]
	}
	if len(edits) == 4 {
		place := binary.BigEndian.Uint32(edits)
		if place&inLog != 0 {
			return f, l[:int(place&^inLog)%len(l)]
		}
		return f[:int(place)%len(f)], l
	}
	return f, l
}

// keep leaves damaged files where the test does not remove them.
func keep(t *testing.T, file, log []byte) {
	t.Helper()
	folder, err := os.MkdirTemp("", "damaged-*") //nolint:usetesting // is to outlive the test
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"kernel.db": file, "kernel.db-wal": log} {
		if err := os.WriteFile(folder+"/"+name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the files are kept in %s", folder)
}
