package search

// Option is an option of a read. Its methods are not exported, so that only packages of itemize make one.
type Option interface{ read(*Settings) }

// OptionFunc is an option that sets something.
type OptionFunc func(*Settings)

func (f OptionFunc) read(s *Settings) { f(s) }

// Apply applies an option.
func Apply(o Option, s *Settings) { o.read(s) }

// Source runs queries of a model.
type Source[T any] interface{ source(*T) Runner }

// Runs makes a type that embeds it a Source.
type Runs[T any] struct{ runner Runner }

// RunsBy returns a Runs whose queries r runs.
func RunsBy[T any](r Runner) Runs[T] { return Runs[T]{r} }

func (s *Runs[T]) source(*T) Runner { return s.runner }

// RunnerOf returns what runs the queries of a source, nil for none.
func RunnerOf[T any](src Source[T]) Runner { return src.source(nil) }
