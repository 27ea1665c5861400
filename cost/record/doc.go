// Package record records what a program does to the entities of its tables: which attributes and elements change and
// are read together, how often, and their sizes. The command itemize cost workload makes a workload of the recording,
// for which itemize cost advise and itemize discover find the best layout.
//
// A program that uses the SDK's client, or a library on top of it, adds one option:
//
//	r := record.New(record.Options{})
//	client := dynamodb.NewFromConfig(cfg, r.Client)
//	defer r.WriteFile("recording.json")
//
// A program with mappers adds the recorder to them as well. Then a call of the mapper is one operation:
//
//	users, err := mapper.New[store.User](client, mapper.Observe(r.Observer()))
//
// Without a mapper each request is an operation. [Recorder.Begin] joins the requests of a context to one, with a
// name.
//
// How requests are recorded:
//   - Requests that change single attributes (UpdateItem) are recorded with these. A request that replaces an item is
//     compared with the item that was read or written before, if the recorder knows it. So a sampled item is recorded
//     in all its requests.
//   - A read of an item counts as a read of all its attributes, except with a projection. Begin can name the
//     attributes that the program uses.
//   - A query that returns several items counts as a read of each.
//
// A recording has names of tables, attributes and indexes, sizes and numbers. It has no values: values are compared
// by hashes with a random seed, which stay in memory. Literal beginnings of keys that fewer than five items share,
// and names of attributes that few items have, count as values.
//
// The memory is bounded (some 10 MB), and so is the work: only a share of the items and calls is recorded. Methods
// can be called from several goroutines.
package record
