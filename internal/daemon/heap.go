package daemon

import "sync"

// headroom is what the heap may grow by, in bytes, before garbage is collected,
// beside as much again as lives: a service that keeps little would collect a
// dozen times a second, which costs a tenth of a large read and its tail.
const headroom = 10 << 20

// ballast counts as live for the collector, and is never touched: the operating
// system gives no memory for it. A higher GOGC would have the same effect on a
// small heap, and too much on a large one.
var ballast = sync.OnceValue(func() []byte { return make([]byte, headroom) })
