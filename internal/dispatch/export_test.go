package dispatch

// SetRoom changes how many dispatches wait in memory.
func (d *Dispatcher) SetRoom(n int) { d.queue.limit = n }
