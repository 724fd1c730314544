package config

import (
	"path/filepath"
	"runtime"
	"strings"
)

const dbName = "kernel.db"

// db reads the path of the database; "" means a temporary one.
func (l *layers) db(dev bool, goos string) string {
	text := l.text(keyDB)
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case l.rank(keyDB) == fromDefault && dev:
		return ""
	case l.rank(keyDB) == fromDefault:
		dir := dataDir(goos, l.env)
		if dir == "" {
			l.problem(keyDB, "is missing, and there is no home folder to put it into: set --db or SERVICE_DB to a file path")
			return ""
		}
		return filepath.Join(dir, "kernelctl", dbName)
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		l.problem(keyDB, "is a %s URL, and this build has SQLite only: give a file path", scheme)
	case isURL || strings.HasPrefix(text, "file:"):
		l.problem(keyDB, "must be a file path, not a URL")
	case strings.HasPrefix(text, ":memory:"):
		l.problem(keyDB, "must be a file path: there is no database in memory, but --dev without one uses a temporary file")
	case text == "" || strings.HasSuffix(text, "/") || strings.HasSuffix(text, string(filepath.Separator)):
		l.problem(keyDB, "must be a file path, such as /var/lib/kernelctl/%s", dbName)
	}
	return l.path(keyDB)
}

// path is a setting that names a file. In the manifest it is relative to the
// manifest's folder; ~/ is the home folder everywhere, because a shell does not
// replace it in the environment, in files and after a =.
func (l *layers) path(name string) string {
	path := l.text(name)
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, ok := l.env("HOME"); ok && home != "" {
			return filepath.Join(home, rest)
		}
	}
	if l.rank(name) == fromFile {
		return l.file.beside(path)
	}
	return path
}

// dataDir is where programs keep their data: $XDG_DATA_HOME, on macOS too,
// with the fallback that it has; on Windows %LocalAppData%. "" when there is none.
func dataDir(goos string, env func(string) (string, bool)) string {
	if dir, ok := env("XDG_DATA_HOME"); ok && filepath.IsAbs(dir) { // a relative one is to be ignored (XDG)
		return dir
	}
	if goos == "windows" {
		dir, _ := env("LocalAppData")
		return dir
	}
	home, ok := env("HOME")
	if !ok || home == "" {
		return ""
	}
	return filepath.Join(home, ".local", "share")
}

// DefaultDB is the database file of a server that was told none; "" when there
// is no home folder to put it into.
func DefaultDB(env func(string) (string, bool)) string {
	if path, ok := env("SERVICE_DB"); ok && path != "" {
		return path
	}
	if dir := dataDir(runtime.GOOS, env); dir != "" {
		return filepath.Join(dir, "kernelctl", dbName)
	}
	return ""
}
