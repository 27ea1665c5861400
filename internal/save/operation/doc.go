// Package operation writes: it saves, deletes and patches entities, alone or in one transaction.
//
// An [Operation] has one or more parts. A part is one entity that is saved ([Save]) or deleted
// ([Delete]), one patch ([Patch]), or one request that the caller made ([Raw]). [New] makes an
// operation of one part, [Transaction] one of several that is applied as a whole. [Operation.Run] is
// the only write loop of the library:
//
//  1. resolve the unresolved writes of its entities,
//  2. plan: compare, choose how to send (write.Arrange), and read what the plan needs,
//  3. store external values,
//  4. send each step of the plan, and resolve lost answers,
//  5. apply written changes to the snapshots, or adopt an earlier write that was applied,
//  6. else ask each part why it was refused: the part changes its requests, and the loop plans again,
//     or the part returns
//     an error,
//  7. after the last step, confirm that the items that were added are in a live entity, or delete them
//     again.
//
// A new kind of operation is a new implementation of [Part]. A new way to send is a new write.Choice.
//
// Errors are of the kinds in errors.go. Package mapper translates them for callers.
package operation
