// Package forecast predicts the monthly cost of a model before it exists. A [Workload] has the sizes of
// the attributes of documents and the operations on them. A [Layout] says which attributes share an
// item. [Workload.Forecast] compares layouts, and [Workload.Advise] finds the cheapest one. The command
// itemize cost does the same with a file.
package forecast
