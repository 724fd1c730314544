package metrics

// Sources are asked at every scrape. A nil function counts as zero.
type Sources struct {
	QueueLength   func() int               // operations that wait for the writer
	Sizes         func() (file, wal int64) // bytes of the database and of its write-ahead log
	Subscribers   func() int64             // who reads live streams
	DroppedDeltas func() int64             // lost by slow ones, ever
}

// Watch sets what is asked at every scrape.
func (m *Metrics) Watch(s Sources) { m.sources.Store(&s) }

// asking makes a function that asks the sources of the moment.
func (m *Metrics) asking(what func(Sources) float64) func() float64 {
	return func() float64 {
		if s := m.sources.Load(); s != nil {
			return what(*s)
		}
		return 0
	}
}

func (m *Metrics) watchSources(f factory) {
	f.gaugeOf("store_queue_length", "Operations that wait for the store's writer.", m.asking(func(s Sources) float64 {
		if s.QueueLength == nil {
			return 0
		}
		return float64(s.QueueLength())
	}))
	f.gaugeOf("db_bytes", "Size of the database file.", m.asking(func(s Sources) float64 {
		file, _ := s.sizes()
		return float64(file)
	}))
	f.gaugeOf("wal_bytes", "Size of the database's write-ahead log.", m.asking(func(s Sources) float64 {
		_, wal := s.sizes()
		return float64(wal)
	}))
	f.gaugeOf("stream_subscribers", "Live streams that somebody reads.", m.asking(func(s Sources) float64 { return ask(s.Subscribers) }))
	f.counterOf("stream_deltas_dropped_total", "Live deltas lost because their reader was too slow.", m.asking(func(s Sources) float64 { return ask(s.DroppedDeltas) }))
}

func (s Sources) sizes() (file, wal int64) {
	if s.Sizes == nil {
		return 0, 0
	}
	return s.Sizes()
}

func ask(f func() int64) float64 {
	if f == nil {
		return 0
	}
	return float64(f())
}
