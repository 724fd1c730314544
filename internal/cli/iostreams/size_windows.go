package iostreams

import "golang.org/x/sys/windows"

// size is the size of the console behind v; zero when there is none.
func size(v any) (width, height int) {
	f, ok := v.(file)
	if !ok {
		return 0, 0
	}
	var info windows.ConsoleScreenBufferInfo
	if err := windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info); err != nil {
		return 0, 0
	}
	return int(info.Window.Right - info.Window.Left + 1), int(info.Window.Bottom - info.Window.Top + 1)
}

// enableColor asks the console to understand colours; an old one that cannot
// shows what it always showed.
func enableColor(v any) {
	f, ok := v.(file)
	if !ok {
		return
	}
	h := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(h, &mode) == nil {
		_ = windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
	}
}
