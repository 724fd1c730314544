//go:build unix

package iostreams

import "golang.org/x/sys/unix"

// size is the size of the terminal behind v; zero when there is none.
func size(v any) (width, height int) {
	f, ok := v.(file)
	if !ok {
		return 0, 0
	}
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(ws.Col), int(ws.Row)
}

// enableColor has nothing to do where terminals understand colours.
func enableColor(any) {}
