------------------------------- MODULE Leases -------------------------------
(* Workers share the shards of a change stream by leases in a table. A shard  *)
(* P is split at its end: C follows it. A worker takes a lease on the version *)
(* that it has read, whenever it thinks that the owner is dead, which may be  *)
(* wrong. It handles the records behind the checkpoint, each begun after the  *)
(* one before has ended, and saves how far it came, on the version that it    *)
(* has written or read last. A worker that has lost its lease notices that    *)
(* with its next save, and until then it handles records (a zombie). Workers  *)
(* die at any time. Listings of the shards may be old.                        *)
(*   Every record behind which a checkpoint stands was handled. The first     *)
(* record of C is handled after all of P. Checkpoints never go back. A sink   *)
(* that compares sequence numbers never goes back either.                     *)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS Workers, Records, MaxVersion, MaxCrashes,
          OnVersion,        \* leases are written on the version that was read
          AfterHandler,     \* a checkpoint is saved after the handler has returned
          ParentFirst,      \* a shard is read when its parent is done
          ListedIsNotDone,  \* a listed parent without a lease is not done yet
          ListingKnowsShard, \* nor one that an older listing than the shard itself lacks
          KeepsListed,      \* the lease of a shard that is done is kept while the shard is listed
          ReadsThenLists,   \* in a listing that has begun after the lease was read
          SinkCompares      \* the sink compares sequence numbers

Shards == {"P", "C"}

(* The workers are alike: a state with two of them exchanged is the same. *)
Symmetry == Permutations(Workers)

VARIABLES lease, exists, list, known, seen, held, handled, sink, top, crashes, again

vars == <<lease, exists, list, known, seen, held, handled, sink, top, crashes, again>>

None == [version |-> 0, at |-> 0, done |-> FALSE]
Free == [version |-> 0, at |-> 0, began |-> 0]

Init ==
  /\ lease = [s \in Shards |-> None]      \* version 0: there is no lease
  /\ exists = {}                          \* the shards that a listing shows
  /\ list = [w \in Workers |-> {}]        \* the last listing of a worker
  /\ known = [w \in Workers |-> {}]       \* the leases that it had read before that
  /\ seen = [w \in Workers |-> [s \in Shards |-> None]]  \* the leases as it has read them
  /\ held = [w \in Workers |-> [s \in Shards |-> Free]]  \* began: the record in its handler, 0 for none
  /\ handled = {}
  /\ sink = 0
  /\ top = [s \in Shards |-> None]        \* the furthest that each lease was
  /\ crashes = 0
  /\ again = FALSE                        \* a lease of P was taken after C has begun

Order(s, i) == IF s = "P" THEN i ELSE Records + i

Versions == lease["P"].version + lease["C"].version

Open == /\ exists = {}
        /\ exists' = {"P"}
        /\ UNCHANGED <<lease, list, known, seen, held, handled, sink, top, crashes, again>>

Split == /\ exists = {"P"}
         /\ exists' = {"P", "C"}
         /\ UNCHANGED <<lease, list, known, seen, held, handled, sink, top, crashes, again>>

(* P is trimmed after a day. Records that are not handled by then are lost, which is reported; here it waits. *)
Trim == /\ exists = {"P", "C"}
        /\ \A i \in 1..Records : <<"P", i>> \in handled
        /\ exists' = {"C"}
        /\ UNCHANGED <<lease, list, known, seen, held, handled, sink, top, crashes, again>>

List(w) == /\ list' = [list EXCEPT ![w] = exists]
           /\ known' = [known EXCEPT ![w] = {s \in Shards : seen[w][s].version > 0}]
           /\ <<list, known>>' # <<list, known>>
           /\ UNCHANGED <<lease, exists, seen, held, handled, sink, top, crashes, again>>

Insert(w, s) ==
  /\ s \in list[w]
  /\ lease[s].version = 0
  /\ Versions < MaxVersion
  /\ lease' = [lease EXCEPT ![s] = [version |-> Versions + 1, at |-> 0, done |-> FALSE]]
  /\ UNCHANGED <<exists, list, known, seen, held, handled, sink, top, crashes, again>>

(* The lease of a shard that is not listed any more is deleted. *)
Delete(w, s) ==
  /\ lease[s].done
  /\ KeepsListed => s \notin list[w] /\ list[w] # {} /\ (ReadsThenLists => s \in known[w])
  /\ lease' = [lease EXCEPT ![s] = None]
  /\ UNCHANGED <<exists, list, known, seen, held, handled, sink, top, crashes, again>>

(* A query of the leases is no snapshot: it reads each at another moment. *)
Read(w, s) ==
  /\ seen[w][s] # lease[s]
  /\ seen' = [seen EXCEPT ![w][s] = lease[s]]
  /\ UNCHANGED <<lease, exists, list, known, held, handled, sink, top, crashes, again>>

ParentDone(w, s) ==
  \/ s = "P"
  \/ ~ParentFirst
  \/ seen[w]["P"].done
  \/ /\ seen[w]["P"].version = 0
     /\ ListedIsNotDone => "P" \notin list[w]
     /\ ListingKnowsShard => s \in list[w] \/ s \in known[w]

Max(a, b) == IF a > b THEN a ELSE b

Written(s, v) ==
  /\ lease' = [lease EXCEPT ![s] = v]
  /\ top' = [top EXCEPT ![s] = [version |-> v.version, at |-> Max(@.at, v.at), done |-> @.done \/ v.done]]

Take(w, s) ==
  /\ held[w][s].version = 0
  /\ seen[w][s].version > 0
  /\ ~seen[w][s].done
  /\ ParentDone(w, s)
  /\ OnVersion => lease[s].version = seen[w][s].version
  /\ lease[s].version > 0
  /\ Versions < MaxVersion
  /\ LET v == [seen[w][s] EXCEPT !.version = lease[s].version + 1]
     IN /\ Written(s, v)
        /\ held' = [held EXCEPT ![w][s] = [version |-> v.version, at |-> v.at, began |-> 0]]
        /\ again' = (again \/ (s = "P" /\ \E i \in 1..Records : <<"C", i>> \in handled))
  /\ UNCHANGED <<exists, list, known, seen, handled, sink, crashes>>

Begin(w, s) ==
  /\ held[w][s].version > 0
  /\ held[w][s].began = 0
  /\ held[w][s].at < Records
  /\ s \in exists
  /\ held' = [held EXCEPT ![w][s].began = held[w][s].at + 1]
  /\ UNCHANGED <<lease, exists, list, known, seen, handled, sink, top, crashes, again>>

(* The handler returns: its effect is in the sink. *)
Return(w, s) ==
  /\ held[w][s].began > 0
  /\ LET i == held[w][s].began
     IN /\ handled' = handled \cup {<<s, i>>}
        /\ sink' = IF SinkCompares THEN Max(sink, Order(s, i)) ELSE Order(s, i)
        /\ held' = [held EXCEPT ![w][s].at = i, ![w][s].began = 0]
  /\ UNCHANGED <<lease, exists, list, known, seen, top, crashes, again>>

Save(w, s) ==
  /\ held[w][s].version > 0
  /\ Versions < MaxVersion
  /\ LET h == held[w][s]
         at == IF AfterHandler \/ h.began = 0 THEN h.at ELSE h.began
         done == at = Records /\ h.began = 0
     IN IF (OnVersion => lease[s].version = h.version) /\ lease[s].version > 0
        THEN /\ at > lease[s].at \/ (done /\ ~lease[s].done) \/ ~OnVersion
             /\ Written(s, [version |-> lease[s].version + 1, at |-> at, done |-> done])
             /\ held' = [held EXCEPT ![w][s] = IF done THEN Free ELSE [h EXCEPT !.version = lease[s].version + 1]]
        ELSE /\ held' = [held EXCEPT ![w][s] = Free]   \* it has lost the lease
             /\ UNCHANGED <<lease, top>>
  /\ UNCHANGED <<exists, list, known, seen, handled, sink, crashes, again>>

Die(w) ==
  /\ crashes < MaxCrashes
  /\ \E s \in Shards : held[w][s].version > 0
  /\ held' = [held EXCEPT ![w] = [s \in Shards |-> Free]]
  /\ seen' = [seen EXCEPT ![w] = [s \in Shards |-> None]]
  /\ list' = [list EXCEPT ![w] = {}]
  /\ known' = [known EXCEPT ![w] = {}]
  /\ crashes' = crashes + 1
  /\ UNCHANGED <<lease, exists, handled, sink, top, again>>

Next ==
  \/ Open \/ Split \/ Trim
  \/ \E w \in Workers :
       \/ List(w) \/ Die(w)
       \/ \E s \in Shards : Read(w, s) \/ Insert(w, s) \/ Delete(w, s) \/ Take(w, s) \/ Begin(w, s) \/ Return(w, s) \/ Save(w, s)

Spec == Init /\ [][Next]_vars

(* Nothing is lost: all records up to a checkpoint were handled. *)
NothingLost == \A s \in Shards : \A i \in 1..Records : i <= top[s].at \/ top[s].done => <<s, i>> \in handled

(* The records of a shard are handled after those of its parent. *)
ParentsFirst == (\E i \in 1..Records : <<"C", i>> \in handled) => \A i \in 1..Records : <<"P", i>> \in handled

(* A lease that exists never goes back, and P is not read again after C. *)
NeverBack ==
  /\ \A s \in Shards : lease[s].version > 0 /\ lease[s].at < top[s].at => s \notin exists
  /\ again => "P" \notin exists

(* The sink has the newest handled record. *)
SinkIsNewest == \A s \in Shards, i \in 1..Records : <<s, i>> \in handled => sink >= Order(s, i)
=============================================================================
