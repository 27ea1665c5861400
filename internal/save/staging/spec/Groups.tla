------------------------------- MODULE Groups -------------------------------
(* A consumer group is joined by workers, who add the leases of shards, and   *)
(* is deleted by calls that can fail anywhere, be repeated, and be late. A    *)
(* worker can be paused for any time, and the call cannot know of it.         *)
(*   A group has leases of its own only, and its workers read no others. A    *)
(* deleted group leaves nothing. A late call deletes nothing of a new group.  *)
EXTENDS Integers

CONSTANTS Workers, Calls, Shards, MaxId, MaxFaults,
          MarksFirst,      \* the group is marked before its leases are listed
          AddChecks,       \* a lease is added in a transaction that checks the group
          DeleteChecks,    \* leases are deleted in transactions that check the mark
          EndChecks,       \* the end of the deletion checks the mark
          TakesOwn,        \* a worker reads leases of its own group only
          OneTransaction   \* the group and its place among the readers change in one transaction

VARIABLES group, place, leases, joined, saw, call, faults, ids, wrong, mixed

vars == <<group, place, leases, joined, saw, call, faults, ids, wrong, mixed>>

None == [id |-> 0, deleting |-> FALSE]
Idle == [at |-> "idle", id |-> 0, todo |-> {}]

Init ==
  /\ group = None
  /\ place = FALSE
  /\ leases = [s \in Shards |-> 0]   \* the group whose worker has added it
  /\ joined = [w \in Workers |-> 0]
  /\ saw = [w \in Workers |-> FALSE] \* the worker has read its group before it lists the shards
  /\ call = [c \in Calls |-> Idle]
  /\ faults = 0
  /\ ids = 0
  /\ wrong = FALSE
  /\ mixed = FALSE

Live(id) == group = [id |-> id, deleting |-> FALSE]
Marked(id) == group = [id |-> id, deleting |-> TRUE]

Join(w) ==
  /\ joined[w] = 0
  /\ ~group.deleting
  /\ IF group.id = 0
     THEN /\ ids < MaxId
          /\ ids' = ids + 1
          /\ group' = [id |-> ids + 1, deleting |-> FALSE]
          /\ place' = TRUE
          /\ joined' = [joined EXCEPT ![w] = ids + 1]
     ELSE /\ joined' = [joined EXCEPT ![w] = group.id]
          /\ UNCHANGED <<group, place, ids>>
  /\ UNCHANGED <<leases, saw, call, faults, wrong, mixed>>

Look(w) ==
  /\ joined[w] # 0
  /\ Live(joined[w])
  /\ ~saw[w]
  /\ saw' = [saw EXCEPT ![w] = TRUE]
  /\ UNCHANGED <<group, place, leases, joined, call, faults, ids, wrong, mixed>>

Add(w, s) ==
  /\ saw[w]
  /\ leases[s] = 0
  /\ AddChecks => Live(joined[w])
  /\ leases' = [leases EXCEPT ![s] = joined[w]]
  /\ UNCHANGED <<group, place, joined, saw, call, faults, ids, wrong, mixed>>

(* A worker reads the shard of a lease, with what it knows of its group: the  *)
(* beginning, for example. It can have been away while the group was deleted. *)
Take(w, s) ==
  /\ joined[w] # 0
  /\ leases[s] # 0
  /\ TakesOwn => leases[s] = joined[w]
  /\ mixed' = (mixed \/ leases[s] # joined[w])
  /\ UNCHANGED <<group, place, leases, joined, saw, call, faults, ids, wrong>>

(* The worker ends, or learns that its group was deleted. *)
Leave(w) ==
  /\ joined[w] # 0
  /\ joined' = [joined EXCEPT ![w] = 0]
  /\ saw' = [saw EXCEPT ![w] = FALSE]
  /\ UNCHANGED <<group, place, leases, call, faults, ids, wrong, mixed>>

Begin(c) ==
  /\ call[c].at = "idle"
  /\ group.id # 0
  /\ call' = [call EXCEPT ![c] = [at |-> "begun", id |-> group.id, todo |-> {}]]
  /\ group' = IF MarksFirst THEN [group EXCEPT !.deleting = TRUE] ELSE group
  /\ UNCHANGED <<place, leases, joined, saw, faults, ids, wrong, mixed>>

List(c) ==
  /\ call[c].at = "begun"
  /\ call' = [call EXCEPT ![c].at = "listed", ![c].todo = {s \in Shards : leases[s] # 0}]
  /\ UNCHANGED <<group, place, leases, joined, saw, faults, ids, wrong, mixed>>

Remove(c, s) ==
  /\ call[c].at = "listed"
  /\ s \in call[c].todo
  /\ IF DeleteChecks /\ MarksFirst /\ ~Marked(call[c].id)
     THEN /\ call' = [call EXCEPT ![c] = Idle]     \* another call has ended the deletion
          /\ UNCHANGED <<leases, wrong>>
     ELSE /\ call' = [call EXCEPT ![c].todo = @ \ {s}]
          /\ leases' = [leases EXCEPT ![s] = 0]
          /\ wrong' = (wrong \/ (leases[s] # 0 /\ leases[s] # call[c].id /\ Live(leases[s])))
  /\ UNCHANGED <<group, place, joined, saw, faults, ids, mixed>>

End(c) ==
  /\ call[c].at = "listed"
  /\ call[c].todo = {}
  /\ IF EndChecks /\ ~(group.id = call[c].id)
     THEN /\ call' = [call EXCEPT ![c] = Idle]
          /\ UNCHANGED <<group, place, wrong>>
     ELSE /\ call' = [call EXCEPT ![c] = IF OneTransaction THEN Idle ELSE [@ EXCEPT !.at = "freed"]]
          /\ wrong' = (wrong \/ (group.id # 0 /\ group.id # call[c].id))
          /\ group' = None
          /\ place' = IF OneTransaction THEN FALSE ELSE place
  /\ UNCHANGED <<leases, joined, saw, faults, ids, mixed>>

Free(c) ==
  /\ call[c].at = "freed"
  /\ place' = FALSE
  /\ call' = [call EXCEPT ![c] = Idle]
  /\ UNCHANGED <<group, leases, joined, saw, faults, ids, wrong, mixed>>

Fail(c) ==
  /\ call[c].at # "idle"
  /\ faults < MaxFaults
  /\ faults' = faults + 1
  /\ call' = [call EXCEPT ![c] = Idle]
  /\ UNCHANGED <<group, place, leases, joined, saw, ids, wrong, mixed>>

Next ==
  \/ \E w \in Workers : Join(w) \/ Look(w) \/ Leave(w) \/ \E s \in Shards : Add(w, s) \/ Take(w, s)
  \/ \E c \in Calls : Begin(c) \/ List(c) \/ End(c) \/ Free(c) \/ Fail(c) \/ \E s \in Shards : Remove(c, s)

Spec == Init /\ [][Next]_vars

OwnLeases == group.id # 0 /\ ~group.deleting => \A s \in Shards : leases[s] \in {0, group.id}
NothingLeft == group.id = 0 => ~place /\ \A s \in Shards : leases[s] = 0
KeepsPlace == group.id # 0 => place
NothingForeign == ~wrong
NotMixed == ~mixed
=============================================================================
