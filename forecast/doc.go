// Package forecast says what a model would cost in a month, before there is one: a [Workload] has the
// sizes of the attributes of documents and the operations on them, a [Layout] says which attributes
// share an item. [Workload.Forecast] compares layouts, and [Workload.Advise] finds the cheapest. The
// command itemize cost does the same from a file.
package forecast
