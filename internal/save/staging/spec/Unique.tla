------------------------------- MODULE Unique -------------------------------
(* Unique values. A guard is an item whose key is a field and a value of it.  *)
(* It names the entity that owns the value. Several actors write guards and   *)
(* root items. Answers can be lost, requests can be late, and actors can      *)
(* crash.                                                                     *)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS NActors, Kinds, Starts, Ttl, MaxLost, MaxLate, MaxCrash, Final, Adoption,
    Fields,     \* the unique fields of an entity: {1} or {1, 2}
    Inserts,    \* the values that inserts write: functions of the field, 0 for an empty value
    Changes,    \* and changes: also Keep
    Adopted,    \* in a run of adoption: the fields that were unique before
    TwoWriters, \* and two writers at the same time as the pass
    Parts,      \* staged and bulk inserts have an item in addition to the root item
    Eventual,   \* lookups read guard and root item eventually consistent first
    \* The conditions:
    Incarnation,        \* a guard names the incarnation of its owner, and a judge compares it
    RootAfterGuard,     \* a judge reads the owner's root item after the guard
    DeletesExpired,     \* an actor that takes a value from an expired root item deletes that in the same transaction
    GuardVersion,       \* an actor takes a guard on condition of its version
    GuardAtEnd,         \* a staged insert takes its guards in the transaction that makes the root item live
    OldInSame,          \* a change deletes the guards of old values in its own transaction
    ReleaseAfterRoot,   \* a delete releases guards after it has deleted or marked the root item
    ReleaseLiveOnly,    \* and only if it has seen the root item live: a claim that is sent again has the same incarnation
    ReleaseOwnOnly,     \* and only if they still name the owner's incarnation
    MoveGuard,          \* a move writes the guards of the new key
    LookTwice,          \* a lookup that finds no owner reads the guard again
    ReadFirst,          \* a patch of a unique field reads the root item first
    ValueCounts,        \* a guard is free if its owner has another value
    NewVersion,         \* every take writes a new version, even if the guard is the taker's own
    MoveRenews,         \* a moved entity has a new incarnation
    MoveTakes,          \* a move whose guard belongs to another entity judges it, as other writers do
    EachField,          \* a write takes and releases the guards of each field that it changes
    JudgesEach,         \* an actor judges each guard in the way
    DeletesEachExpired, \* and deletes each expired root item
    KeepsUnresolved,    \* a bulk insert keeps its other items if the transaction of its root item may still arrive
    UndoRootFirst,      \* an insert that is undone deletes its root item before its other items
    MissReadsStrongly,  \* a lookup that finds no guard in an eventually consistent read reads it again
    LooksStrongly,      \* a lookup that finds no owner in eventually consistent reads reads guard and root item again
    FoundHasValue       \* a lookup compares the value of the root item

Keys == {1, 2, 3}
Vals == {1, 2}
GuardKeys == Fields \X Vals
Empty == 0
Keep == 3 \* a change leaves the field as it is
AllKinds == <<"insert", "staged", "bulk", "change", "patch", "touch", "delete", "delkey", "unread", "move", "replace", "return",
              "swap", "lookup", "untagged", "backfill">>

VARIABLES root, guard, parts, applied, late, left, me, run, hist, past
vars == <<root, guard, parts, applied, late, left, me, run, hist, past>>

Each(v) == [f \in Fields |-> v]
None == [st |-> "none", a |-> 0, ver |-> 0, val |-> Each(0), exp |-> FALSE]
Root(a, ver, st, val) == [st |-> st, a |-> a, ver |-> ver, val |-> val, exp |-> FALSE]
Free == [o |-> 0, a |-> 0, ver |-> 0]
Guard(o, a, ver) == [o |-> o, a |-> a, ver |-> ver]
Token(p, n) == 100 * p + n
Seen(i) == i.st = "live" /\ ~i.exp

Owns(i, f, v) == Seen(i) /\ i.val[f] = v
Owners(f, v) == {k \in Keys : Owns(root[k], f, v)}

\* Values for the configurations.
OneField == [Fields -> Vals]
InsertTwo == {<<1, 1>>, <<1, 2>>}
ChangeTwo == {<<2, Keep>>, <<2, 2>>, <<1, 1>>}
InsertEmpty == {<<1, Empty>>, <<2, 1>>}
ChangeEmpty == {<<Empty, Keep>>, <<2, 1>>}

\* The starts. The entity at key k has incarnation 10k; an entity that followed one has 10k+1.
Live0(k, val) == Root(10 * k, 10 * k, "live", val)
Guard0(k, v) == Guard(k, 10 * k, 900 + v)
Only(i) == [k \in Keys |-> IF k = 1 THEN i ELSE None]
Both(i, j) == [k \in Keys |-> CASE k = 1 -> i [] k = 2 -> j [] k = 3 -> None]
Expired(i) == [i EXCEPT !.exp = TRUE]
GuardsOf(r, fields) == [x \in GuardKeys |->
    LET own == {k \in Keys : x[1] \in fields /\ r[k].val[x[1]] = x[2]}
    IN IF own = {} THEN Free ELSE LET k == CHOOSE k \in own : TRUE IN Guard(k, r[k].a, 900 + x[2])]
With(r) == [r |-> r, g |-> GuardsOf(r, Fields)]
Half(r) == [r |-> r, g |-> GuardsOf(r, Adopted)]
Split == Both(Live0(1, <<1, 2>>), Live0(2, <<2, 1>>))
Stored(s) ==
  LET one == Live0(1, Each(1))
      older == Root(11, 11, "live", Each(2))
  IN CASE s = "empty" -> With(Only(None))
       [] s = "one" -> With(Only(one))
       [] s = "two" -> With(Both(one, Live0(2, Each(2))))
       [] s = "orphan" -> [With(Only(one)) EXCEPT !.r = Only(None)]
       [] s = "older" -> [r |-> Only(older), g |-> [x \in GuardKeys |-> IF x[2] = 1 THEN Guard0(1, 1) ELSE Guard(1, 11, 902)]]
       [] s = "expired" -> With(Only(Expired(one)))
       [] s = "deleting" -> With(Only([one EXCEPT !.st = "deleting"]))
       [] s = "pending" -> [With(Only(None)) EXCEPT !.r = Only([one EXCEPT !.st = "inserting"])]
       \* a program without the tag has changed the value
       [] s = "stale" -> [r |-> Only([one EXCEPT !.val = Each(2)]), g |-> [x \in GuardKeys |-> Guard0(1, x[2])]]
       \* two fields: value 1 of the second field is owned by another entity than value 1 of the first
       [] s = "split" -> With(Split)
       [] s = "split expired" -> With([Split EXCEPT ![1] = Expired(@)])
       [] s = "both expired" -> With([Split EXCEPT ![1] = None, ![2] = Expired(@), ![3] = Expired(Live0(3, <<1, 2>>))])
       \* adoption: stored before a field was unique
       [] s = "unguarded" -> Half(Both(one, Live0(2, Each(2))))
       [] s = "duplicates" -> Half(Both(one, Live0(2, [f \in Fields |-> IF f \in Adopted THEN 2 ELSE 1])))

-----------------------------------------------------------------------------
(* A request has conditions and writes of root items (r) and of guards (g),   *)
(* and a token (t), or 0.                                                     *)
RW(c, v, new) == [c |-> c, v |-> v, new |-> new]
GW(c, x, new) == [c |-> c, x |-> x, new |-> new]
NoR == [k \in {} |-> 0]
NoG == [x \in {} |-> 0]

MeetsR(i, w) == CASE w.c = "absent" -> i.st = "none"
                  [] w.c = "ver" -> i.st # "none" /\ i.ver = w.v
                  [] w.c = "live" -> i.st = "live"
                  [] w.c = "any" -> TRUE
Names(i, x) == i.o = x.o /\ (i.a = x.a \/ ~Incarnation)
MeetsG(i, w) == CASE w.c = "absent" -> i.o = 0
                  [] w.c = "ver" -> i.ver = w.x.ver
                  [] w.c = "own" -> Names(i, w.x)
                  [] w.c = "own or absent" -> i.o = 0 \/ Names(i, w.x)
                  [] w.c = "any" -> TRUE

Passes(q) == /\ \A k \in DOMAIN q.r : MeetsR(root[k], q.r[k])
             /\ \A x \in DOMAIN q.g : MeetsG(guard[x], q.g[x])
Before(q) == q.t # 0 /\ q.t \in applied
Accepted(q) == Before(q) \/ Passes(q)
Merged(old, new) == [f \in Fields |-> IF new[f] = Keep THEN old[f] ELSE new[f]]
NewRoot(k, w) == IF w.c = "live" THEN [root[k] EXCEPT !.ver = w.new.ver, !.exp = FALSE, !.val = Merged(@, w.new.val)] ELSE w.new
Apply(q) == IF Before(q) THEN UNCHANGED <<root, guard, applied>>
            ELSE /\ root' = [k \in Keys |-> IF k \in DOMAIN q.r THEN NewRoot(k, q.r[k]) ELSE root[k]]
                 /\ guard' = [x \in GuardKeys |-> IF x \in DOMAIN q.g THEN q.g[x].new ELSE guard[x]]
                 /\ applied' = IF q.t # 0 THEN applied \union {q.t} ELSE applied

\* The actor gets an answer; or the request is applied without an answer; or it is late.
Send(p, q, ok, refused, lost) ==
    /\ UNCHANGED parts
    /\ \/ /\ IF Accepted(q) THEN Apply(q) ELSE UNCHANGED <<root, guard, applied>>
          /\ me' = [me EXCEPT ![p] = IF Accepted(q) THEN ok ELSE refused]
          /\ UNCHANGED <<late, left>>
       \/ /\ left.lost > 0 /\ Passes(q) /\ ~Before(q)
          /\ Apply(q) /\ me' = [me EXCEPT ![p] = lost]
          /\ left' = [left EXCEPT !.lost = @ - 1] /\ UNCHANGED late
       \/ /\ left.late > 0
          /\ late' = late \union {[p |-> p, q |-> q]}
          /\ me' = [me EXCEPT ![p] = lost]
          /\ left' = [left EXCEPT !.late = @ - 1] /\ UNCHANGED <<root, guard, applied>>

Go(p, next) == me' = [me EXCEPT ![p] = next] /\ UNCHANGED <<root, guard, parts, applied, late, left>>

-----------------------------------------------------------------------------
NoRoot == [k |-> 0, ver |-> 0]
Fresh == [pc |-> "start", res |-> "none", n |-> 0, unresolved |-> FALSE,
          it |-> None,                 \* the root item as loaded, or the actor's own claim
          rc |-> "absent", rv |-> 0,   \* the condition of the root item's put
          gs |-> Each(Free),           \* of each field: the guard in the way, judged free; Free for none
          expired |-> Each(NoRoot),    \* the expired root item of its owner, which the transaction deletes
          todo |-> {},                 \* the fields whose guards are still to be judged, or released
          old |-> None]                \* the owner's root item as it was before the guard was read (naive)
Done(m, res) == [Fresh EXCEPT !.pc = "done", !.res = res, !.it = m.it, !.todo = IF res = "taken" THEN m.todo ELSE {}]
Who(p) == run.cast[p]
K(p) == Who(p).k
V(p) == Who(p).v
To(p) == CASE Who(p).kind \in {"move", "replace"} -> 3 [] Who(p).kind = "return" -> 1 [] OTHER -> K(p)
From(p) == IF Who(p).kind = "return" THEN 3 ELSE K(p)
Fail(m, r) == IF m.unresolved THEN "unknown" ELSE r

\* The fields that a change changes, and the values that the actor takes.
Changed(p) ==
    LET all == {f \in Fields : V(p)[f] \notin {Keep, me[p].it.val[f]}}
    IN IF EachField \/ all = {} THEN all ELSE {CHOOSE f \in all : \A other \in all : f <= other}
Wanted(p) ==
    CASE Who(p).kind \in {"change", "patch"} -> {<<f, V(p)[f]>> : f \in Changed(p)}
      [] Who(p).kind \in {"move", "return"} -> {<<f, me[p].it.val[f]>> : f \in Fields}
      [] Who(p).kind = "backfill" -> {<<f, me[p].it.val[f]>> : f \in Fields \ Adopted}
      [] OTHER -> {<<f, V(p)[f]>> : f \in Fields}
Want(p) == {x \in Wanted(p) : x[2] # Empty}

\* Take these values for incarnation a of key k. Condition c applies to guards that were not judged.
Take(p, k, a, c, own) ==
    LET m == me[p]
        new(x) == IF NewVersion \/ guard[x].o # k \/ guard[x].a # a THEN Guard(k, a, Token(p, 50 + m.n)) ELSE guard[x]
    IN [x \in Want(p) |-> IF m.gs[x[1]] = Free THEN GW(c, own, new(x))
                          ELSE IF GuardVersion THEN GW("ver", m.gs[x[1]], new(x)) ELSE GW("any", m.gs[x[1]], new(x))]
DeleteExpired(p) ==
    LET all == {me[p].expired[f] : f \in Fields}
        deleted == {e \in all : e.k \notin {0, From(p), To(p)}}
        first == {CHOOSE e \in deleted : TRUE}
        some == IF DeletesEachExpired \/ deleted = {} THEN deleted ELSE first
    IN [k \in {e.k : e \in some} |-> RW("ver", (CHOOSE e \in some : e.k = k).ver, None)]

\* After a refusal: the guards in the way are to be judged, and also those whose expired owner has changed.
Blocked(p, x, c, own) ==
    /\ ~MeetsG(guard[x], GW(c, own, 0)) \/ me[p].gs[x[1]] # Free
    /\ guard[x].o # 0 /\ ~(me[p].gs[x[1]] # Free /\ guard[x].ver = me[p].gs[x[1]].ver)
AsJudged(e) == e.k = 0 \/ (root[e.k].st # "none" /\ root[e.k].ver = e.ver)
JudgeAgain(p, m, c, own) ==
    LET x(f) == CHOOSE y \in Want(p) : y[1] = f
        wanted == {y[1] : y \in Want(p)}
        blocked == {f \in wanted : Blocked(p, x(f), c, own)}
        missing == {f \in wanted : m.gs[f] # Free /\ guard[x(f)].o = 0}
        changed == {f \in wanted \ missing : ~AsJudged(m.expired[f])}
        todo == blocked \union changed
        new == [m EXCEPT !.gs = [f \in Fields |-> IF f \in blocked THEN guard[x(f)] ELSE IF f \in missing THEN Free ELSE @[f]],
                         !.expired = [f \in Fields |-> IF f \in missing THEN NoRoot ELSE @[f]],
                         !.todo = todo]
    IN IF todo = {} THEN [new EXCEPT !.n = @ + 1] ELSE [new EXCEPT !.pc = "judge"]

\* The actor judges one guard in the way by the owner's root item, which it reads now.
JudgeGuard(p, back, mine) ==
    /\ me[p].pc = "judge"
    /\ \E f \in me[p].todo :
        LET m == me[p]
            x == CHOOSE y \in Want(p) : y[1] = f
            r == IF RootAfterGuard THEN root[m.gs[f].o] ELSE m.old
            same == r.st = "live" /\ (r.a = m.gs[f].a \/ ~Incarnation) /\ (r.val[f] = x[2] \/ ~ValueCounts)
            own == m.gs[f].o = From(p) /\ m.gs[f].a = mine
            rest == IF JudgesEach THEN m.todo \ {f} ELSE {}
            next == [m EXCEPT !.todo = rest, !.pc = IF rest = {} THEN back ELSE @, !.n = IF rest = {} THEN @ + 1 ELSE @]
        IN Go(p, IF same /\ ~r.exp /\ ~own THEN [m EXCEPT !.pc = "taken", !.todo = {f}]
                 ELSE [next EXCEPT !.expired[f] = IF same /\ r.exp /\ DeletesExpired THEN [k |-> m.gs[f].o, ver |-> r.ver] ELSE NoRoot])

\* Inserts an entity in one transaction.
ReadOwnerFirst(p) == \* naive: before the guard
    /\ ~RootAfterGuard /\ me[p].pc = "start" /\ me[p].n = 0
    /\ Go(p, [me[p] EXCEPT !.old = root[1], !.n = 1])

Over(m, i) == [m EXCEPT !.rc = IF i.st = "none" THEN "absent" ELSE "ver", !.rv = i.ver] \* takes over the item with its key

Insert(p) ==
    LET m == me[p]
        q == [t |-> Token(p, m.n),
              r |-> (K(p) :> RW(m.rc, m.rv, Root(p, Token(p, m.n), "live", V(p)))) @@ DeleteExpired(p),
              g |-> Take(p, K(p), p, "absent", Free)]
        i == root[K(p)]
    IN \/ ReadOwnerFirst(p)
       \/ /\ m.pc = "start" /\ (RootAfterGuard \/ m.n > 0)
          /\ Send(p, q, Done(m, "ok"),
               IF m.unresolved THEN Done(m, "unknown")
               ELSE IF Seen(i) THEN Done(m, "exists")
               ELSE JudgeAgain(p, Over(m, i), "absent", Free),
               [m EXCEPT !.unresolved = TRUE])
       \/ JudgeGuard(p, "start", p)
       \/ m.pc = "taken" /\ Go(p, Done(m, "taken"))

\* A staged insert: its root item is a claim, and then goes live. In between it puts its other item (parts).
Claim(p) ==
    LET m == me[p]
        new == Root(p, Token(p, m.n), "inserting", V(p))
        i == root[K(p)]
        next == IF ~GuardAtEnd THEN "guard" ELSE IF Parts THEN "part" ELSE "golive"
        claimed(c) == [m EXCEPT !.pc = next, !.it = c, !.n = @ + 1]
    IN /\ m.pc = "start"
       /\ Send(p, [t |-> 0, r |-> K(p) :> RW(m.rc, m.rv, new), g |-> NoG],
               claimed(new),
               IF i.a = p /\ i.st = "inserting" THEN claimed(i)
               ELSE IF Seen(i) THEN Done(m, Fail(m, "exists"))
               ELSE [Over(m, i) EXCEPT !.n = @ + 1],
               [m EXCEPT !.n = @ + 1])
GoLive(p, guards, expired) ==
    LET m == me[p]
        i == root[K(p)]
        live == [m.it EXCEPT !.st = "live", !.ver = Token(p, 20 + m.n)]
        stands == i.a = p /\ i.st = "inserting" /\ i.ver = m.it.ver
    IN Send(p, [t |-> Token(p, m.n), r |-> (K(p) :> RW("ver", m.it.ver, live)) @@ expired, g |-> guards],
            Done(m, "ok"),
            IF i.a = p /\ i.st = "live" THEN Done(m, "ok")
            ELSE IF stands THEN JudgeAgain(p, m, "absent", Free)
            ELSE IF m.unresolved THEN Done(m, "unknown")
            ELSE [m EXCEPT !.pc = "undo"],
            [m EXCEPT !.unresolved = TRUE])
Part(p, new, next) == parts' = new /\ me' = [me EXCEPT ![p] = next] /\ UNCHANGED <<root, guard, applied, late, left>>
\* The root item is deleted on the version of the claim. If it is live, the insert has succeeded.
UndoRoot(p, next) ==
    LET m == me[p]
        i == root[K(p)]
        refused == IF i.a = p /\ i.st = "live" THEN Done(m, "ok")
                   ELSE IF m.unresolved THEN Done(m, "unknown") ELSE next
    IN Send(p, [t |-> 0, r |-> K(p) :> RW("ver", m.it.ver, None), g |-> NoG], next, refused, m)
Undo(p) ==
    LET m == me[p]
        res == IF m.todo = {} THEN "refused" ELSE "taken"
        partOnly == [m EXCEPT !.pc = "undopart"]
    IN \/ m.pc = "taken" /\ Go(p, [m EXCEPT !.pc = "undo"])
       \/ m.pc = "undo" /\ UndoRootFirst /\ UndoRoot(p, IF Parts THEN partOnly ELSE Done(m, res))
       \/ m.pc = "undopart" /\ Part(p, parts \ {p}, Done(m, res))
       \/ m.pc = "undo" /\ ~UndoRootFirst /\ Part(p, parts \ {p}, [m EXCEPT !.pc = "undoroot"])
       \/ m.pc = "undoroot" /\ UndoRoot(p, Done(m, res))
Staged(p) ==
    LET m == me[p]
        own == Guard(K(p), p, 0)
        x == <<1, V(p)[1]>> \* naive, with one field
    IN \/ Claim(p)
       \* naive: before the root item is live
       \/ m.pc = "guard" /\ Send(p, [t |-> 0, r |-> NoR, g |-> Take(p, K(p), p, "own or absent", own)],
                                 [m EXCEPT !.pc = "golivebare"],
                                 IF Names(guard[x], own) THEN [m EXCEPT !.pc = "golivebare"]
                                 ELSE [m EXCEPT !.pc = "judge", !.gs = Each(guard[x]), !.todo = {1}], m)
       \/ m.pc = "golivebare" /\ GoLive(p, NoG, NoR)
       \/ m.pc = "part" /\ Part(p, parts \union {p}, [m EXCEPT !.pc = "golive"])
       \/ m.pc = "golive" /\ GoLive(p, Take(p, K(p), p, "absent", Free), DeleteExpired(p))
       \/ JudgeGuard(p, IF GuardAtEnd THEN "golive" ELSE "guard", p)
       \/ Undo(p)

\* A bulk insert puts its other item first. The last transaction inserts the root item, and takes the guards.
Bulk(p) ==
    LET m == me[p]
        i == root[K(p)]
        new == Root(p, Token(p, m.n), "live", V(p))
        undo == [m EXCEPT !.pc = "undo"]
    IN \/ m.pc = "start" /\ Part(p, parts \union {p}, [m EXCEPT !.pc = "put"])
       \/ m.pc = "put" /\ Send(p, [t |-> Token(p, m.n), r |-> (K(p) :> RW(m.rc, m.rv, new)) @@ DeleteExpired(p),
                                   g |-> Take(p, K(p), p, "absent", Free)],
                               Done(m, "ok"),
                               IF i.a = p /\ i.st = "live" THEN Done(m, "ok")
                               ELSE IF m.unresolved /\ KeepsUnresolved THEN Done(m, "unknown")
                               ELSE IF Seen(i) THEN undo
                               ELSE JudgeAgain(p, Over(m, i), "absent", Free),
                               [m EXCEPT !.unresolved = TRUE])
       \/ JudgeGuard(p, "put", p)
       \/ m.pc = "taken" /\ Go(p, undo)
       \/ m.pc = "undo" /\ Part(p, parts \ {p}, Done(m, IF m.todo = {} THEN "exists" ELSE "taken"))

\* Changes values of a loaded entity. A patch does the same, and reads again if another writer was faster.
Load(p) ==
    /\ me[p].pc = "start"
    /\ LET i == root[K(p)]
           next == IF Who(p).kind = "patch" /\ ~ReadFirst THEN "blind" ELSE "send"
       IN Go(p, IF Seen(i) THEN [me[p] EXCEPT !.pc = next, !.it = i] ELSE Done(me[p], "notfound"))
Forget(m) == [m EXCEPT !.gs = Each(Free), !.expired = Each(NoRoot), !.n = @ + 1]
Change(p) ==
    LET m == me[p]
        own == Guard(K(p), m.it.a, 0)
        old == {<<f, m.it.val[f]>> : f \in {f \in Changed(p) : m.it.val[f] # Empty}}
        release == [x \in IF OldInSame THEN old ELSE {} |-> GW("own or absent", own, Free)]
        new == [m.it EXCEPT !.val = Merged(@, V(p)), !.ver = Token(p, m.n)]
        q == [t |-> Token(p, m.n),
              r |-> (K(p) :> RW("ver", m.it.ver, new)) @@ DeleteExpired(p),
              g |-> Take(p, K(p), m.it.a, "own or absent", own) @@ release]
        i == root[K(p)]
        ok == IF OldInSame \/ old = {} THEN Done(m, "ok") ELSE [m EXCEPT !.pc = "release"]
        ofOther == {x[1] : x \in {x \in old : ~MeetsG(guard[x], GW("own or absent", own, Free))}}
        leave(val) == [f \in Fields |-> IF f \in ofOther THEN Empty ELSE val[f]]
        overtaken == IF Who(p).kind = "patch" /\ m.n < 3 THEN [Forget(m) EXCEPT !.pc = "start"] ELSE Done(m, "conflict")
    IN \/ Load(p)
       \/ /\ m.pc = "send"
          /\ Send(p, q, ok,
               IF m.unresolved THEN Done(m, "unknown")
               ELSE IF i.ver # m.it.ver \/ i.st # "live" THEN overtaken
               \* the guards of old values that other entities own are left as they are
               ELSE IF ofOther # {} THEN [m EXCEPT !.it.val = leave(@), !.n = @ + 1]
               ELSE JudgeAgain(p, m, "own or absent", own),
               [m EXCEPT !.unresolved = TRUE])
       \/ JudgeGuard(p, "send", m.it.a)
       \/ m.pc = "taken" /\ Go(p, Done(m, "taken"))
       \* naive: in a request of its own, with one field
       \/ m.pc = "release" /\ LET next == Done(m, "ok")
                              IN Send(p, [t |-> 0, r |-> NoR, g |-> [x \in old |-> GW("own", own, Free)]], next, next, next)
       \* naive: the patch has read the root's incarnation only, and leaves the old guard
       \/ m.pc = "blind" /\ Send(p, [t |-> Token(p, m.n), r |-> K(p) :> RW("live", 0, Root(0, Token(p, m.n), "live", V(p))),
                                     g |-> Take(p, K(p), m.it.a, "own or absent", own)],
                                 Done(m, "ok"), Done(m, "refused"), [m EXCEPT !.unresolved = TRUE])

\* A patch of another field of the root item, which also moves its expiry.
Touch(p) ==
    LET m == me[p] IN
    /\ m.pc = "start"
    /\ Send(p, [t |-> 0, r |-> K(p) :> RW("live", 0, Root(0, Token(p, 0), "live", Each(Keep))), g |-> NoG],
            Done(m, "ok"), Done(m, "notfound"), Done(m, "unknown"))

\* Releases each guard of the deleted entity by itself. A refusal, and a request without an answer, change nothing.
Releasing(m, fields) == IF fields = {} THEN Done(m, "ok") ELSE [m EXCEPT !.pc = "release", !.todo = fields]
Release(p) ==
    /\ me[p].pc = "release"
    /\ \E f \in me[p].todo :
        LET m == me[p]
            w == GW(IF ReleaseOwnOnly THEN "own" ELSE "any", Guard(From(p), m.it.a, 0), Free)
            next == Releasing(m, m.todo \ {f})
        IN Send(p, [t |-> 0, r |-> NoR, g |-> <<f, m.it.val[f]>> :> w], next, next, next)
Held(i) == {f \in Fields : i.val[f] # Empty}

\* Deletes a loaded entity in one transaction, and then its guards.
Delete(p) ==
    LET m == me[p]
        i == root[K(p)]
        first == IF ReleaseAfterRoot \/ Held(i) = {} THEN "send" ELSE "first"
        send == [m EXCEPT !.pc = "send"]
        held == {<<f, m.it.val[f]>> : f \in Held(m.it)}
        ended == m.unresolved /\ (i.st = "none" \/ i.a # m.it.a) \* the loaded entity does not exist any more
        releaseAll == [t |-> 0, r |-> NoR, g |-> [x \in held |-> GW("own", Guard(K(p), m.it.a, 0), Free)]]
    IN \/ m.pc = "start" /\ Go(p, IF Seen(i) THEN [m EXCEPT !.pc = first, !.it = i] ELSE Done(m, "notfound"))
       \/ m.pc = "first" /\ Send(p, releaseAll, send, send, send) \* naive
       \/ m.pc = "send" /\ Send(p, [t |-> Token(p, 1), r |-> K(p) :> RW("ver", m.it.ver, None), g |-> NoG],
                                Releasing(m, IF ReleaseAfterRoot THEN Held(m.it) ELSE {}),
                                IF ended THEN Releasing(m, Held(m.it)) ELSE Done(m, Fail(m, "conflict")),
                                [m EXCEPT !.unresolved = TRUE])
       \/ Release(p)

\* A staged delete by key: the mark, the root item, the guards. rv is 1 if the delete has seen the root item live.
DelKey(p) ==
    LET m == me[p]
        i == root[K(p)]
        mark == [m.it EXCEPT !.st = "deleting", !.ver = Token(p, m.n)]
        marked == [m EXCEPT !.pc = "root", !.it = mark, !.rv = IF m.it.st = "live" \/ ~ReleaseLiveOnly THEN 1 ELSE 0]
    IN \/ m.pc = "start" /\ Go(p, IF i.st = "none" THEN Done(m, "ok") ELSE [m EXCEPT !.pc = "mark", !.it = i])
       \/ m.pc = "mark" /\ Send(p, [t |-> 0, r |-> K(p) :> RW("ver", m.it.ver, mark), g |-> NoG],
                                marked,
                                IF i.st = "deleting" /\ i.ver = Token(p, m.n) THEN marked
                                ELSE IF i.st = "none" THEN Done(m, "ok")
                                ELSE [m EXCEPT !.it = i, !.n = @ + 1],
                                m)
       \/ m.pc = "root" /\ LET next == Releasing(m, IF m.rv = 0 THEN {} ELSE Held(m.it))
                           IN Send(p, [t |-> 0, r |-> K(p) :> RW("ver", m.it.ver, None), g |-> NoG], next, next, m)
       \/ Release(p)

\* A delete by key of an entity of one item, without a read: the answer contains the deleted item.
Unread(p) ==
    LET m == me[p]
        i == root[K(p)]
        deleted == [m EXCEPT !.it = i]
    IN \/ m.pc = "start" /\ Send(p, [t |-> 0, r |-> K(p) :> RW("any", 0, None), g |-> NoG],
                                 Releasing(deleted, IF i.st = "live" \/ ~ReleaseLiveOnly THEN Held(i) ELSE {}), m, Done(m, "unknown"))
       \/ Release(p)

\* Moves an entity to another key in one transaction, with the guards of its values. Replace deletes it, and inserts
\* another one, which may take values from it. Then it releases the others.
Move(p) ==
    LET m == me[p]
        a == IF MoveRenews \/ Who(p).kind = "replace" THEN p ELSE m.it.a
        val == IF Who(p).kind = "replace" THEN V(p) ELSE m.it.val
        own == Guard(From(p), m.it.a, 0)
        i == root[From(p)]
        moved == Root(a, Token(p, 20 + m.n), "live", val)
        q == [t |-> Token(p, m.n),
              r |-> (From(p) :> RW("ver", m.it.ver, None)) @@ (To(p) :> RW("absent", 0, moved)) @@ DeleteExpired(p),
              g |-> IF MoveGuard /\ m.rc # "bare" THEN Take(p, To(p), a, "own or absent", own) ELSE NoG]
    IN \/ m.pc = "start" /\ Go(p, IF Seen(i) /\ From(p) # To(p) THEN [m EXCEPT !.pc = "send", !.it = i] ELSE Done(m, "notfound"))
       \/ m.pc = "send" /\ Send(p, q, Releasing(m, {f \in Held(m.it) : val[f] # m.it.val[f]}),
                                IF m.unresolved THEN Done(m, "unknown")
                                ELSE IF i.st # "live" \/ i.ver # m.it.ver \/ root[To(p)].st # "none" THEN Done(m, "conflict")
                                ELSE IF ~MoveTakes THEN [m EXCEPT !.rc = "bare"]
                                ELSE JudgeAgain(p, m, "own or absent", own),
                                [m EXCEPT !.unresolved = TRUE])
       \/ JudgeGuard(p, "send", m.it.a)
       \/ m.pc = "taken" /\ Go(p, Done(m, "taken"))
       \/ Release(p)

\* Exchanges the values of field 1 of keys 1 and 2 in one transaction. Each guard is one write.
Swap(p) ==
    LET m == me[p]
        x == m.it
        y == m.old
        xv == <<1, x.val[1]>>
        yv == <<1, y.val[1]>>
        i == root[1]
        j == root[2]
    IN \/ m.pc = "start" /\ Go(p, IF Seen(i) /\ i.val[1] # Empty THEN [m EXCEPT !.pc = "second", !.it = i] ELSE Done(m, "notfound"))
       \/ m.pc = "second" /\ Go(p, IF Seen(j) /\ j.val[1] \notin {Empty, x.val[1]} THEN [m EXCEPT !.pc = "send", !.old = j]
                                   ELSE Done(m, "notfound"))
       \/ m.pc = "send" /\ Send(p, [t |-> Token(p, 1),
              r |-> (1 :> RW("ver", x.ver, [x EXCEPT !.val[1] = y.val[1], !.ver = Token(p, 2)]))
                    @@ (2 :> RW("ver", y.ver, [y EXCEPT !.val[1] = x.val[1], !.ver = Token(p, 3)])),
              g |-> (xv :> GW("own or absent", Guard(1, x.a, 0), Guard(2, y.a, Token(p, 60))))
                    @@ (yv :> GW("own or absent", Guard(2, y.a, 0), Guard(1, x.a, Token(p, 61))))],
              Done(m, "ok"), Done(m, Fail(m, "conflict")), [m EXCEPT !.unresolved = TRUE])

\* Finds the entity with a value of field 1. The first look may be eventually consistent: each read returns the item as it is,
\* or as it was at any time before. A strong look reads the guard, and then the root item. If that is not the owner, it reads
\* the guard again.
Lookup(p) ==
    LET m == me[p]
        x == <<1, V(p)[1]>>
        g == guard[x]
        found(r) == (Owns(r, 1, V(p)[1]) \/ (~FoundHasValue /\ Seen(r))) /\ (r.a = m.gs[1].a)
        result(r) == [Done(m, "found") EXCEPT !.it = r, !.gs = m.gs, !.n = m.n]
        strong == IF g.o = 0 THEN Done(m, "notfound") ELSE [m EXCEPT !.pc = "root", !.gs = Each(g), !.n = 1] \* n: a strong look
    IN \/ m.pc = "start" /\ Eventual
          /\ \E was \in past.g[x] :
              Go(p, IF was.o # 0 THEN [m EXCEPT !.pc = "eventual", !.gs = Each(was)]
                    ELSE IF MissReadsStrongly THEN [m EXCEPT !.pc = "strong"] ELSE Done(m, "notfound"))
       \/ m.pc = "eventual"
          /\ \E r \in past.r[m.gs[1].o] :
              Go(p, IF found(r) THEN result(r) ELSE [m EXCEPT !.pc = IF LooksStrongly THEN "strong" ELSE "again"])
       \/ (m.pc = "strong" \/ (m.pc = "start" /\ ~Eventual))
          /\ Go(p, strong)
       \/ m.pc = "root" /\ LET r == root[m.gs[1].o] IN
           Go(p, IF found(r) THEN result(r) ELSE IF LookTwice THEN [m EXCEPT !.pc = "again"] ELSE Done(m, "notfound"))
       \/ m.pc = "again" /\ Go(p, IF g.ver = m.gs[1].ver THEN Done(m, "notfound") ELSE strong)

\* A program without the tags of new fields: sets their values, or inserts.
Untagged(p) ==
    LET m == me[p]
        val == [f \in Fields |-> IF f \in Adopted THEN Keep ELSE V(p)[f]]
        insert == RW("absent", 0, Root(p, Token(p, 0), "live", V(p)))
        update == RW("live", 0, Root(0, Token(p, 0), "live", val))
    IN /\ m.pc = "start" /\ (Adopted # {} => root[K(p)].st # "none")
       /\ Send(p, [t |-> 0, r |-> K(p) :> (IF root[K(p)].st = "none" THEN insert ELSE update), g |-> NoG],
               Done(m, "ok"), Done(m, "refused"), Done(m, "unknown"))

\* The backfill of one entity: guards of new fields, and a check of the root item as read.
Backfill(p) ==
    LET m == me[p]
        i == root[K(p)]
        own == Guard(K(p), m.it.a, 0)
        nothing == i.st # "live" \/ Held(i) \ Adopted = {}
    IN \/ m.pc = "start" /\ Go(p, IF nothing THEN Done(m, "ok") ELSE [m EXCEPT !.pc = "send", !.it = i])
       \/ m.pc = "send" /\ Send(p, [t |-> Token(p, m.n), r |-> (K(p) :> RW("ver", m.it.ver, m.it)) @@ DeleteExpired(p),
                                    g |-> Take(p, K(p), m.it.a, "own or absent", own)],
                                Done(m, "ok"),
                                IF i.st # "live" \/ i.ver # m.it.ver THEN [Forget(m) EXCEPT !.pc = "start"]
                                ELSE JudgeAgain(p, m, "own or absent", own),
                                m)
       \/ JudgeGuard(p, "send", m.it.a)
       \/ m.pc = "taken" /\ Go(p, Done(m, "duplicate"))

Step(p) ==
    /\ me[p].pc # "done"
    /\ LET x == Who(p).kind IN
       \/ x = "insert" /\ Insert(p)
       \/ x = "staged" /\ Staged(p)
       \/ x = "bulk" /\ Bulk(p)
       \/ x \in {"change", "patch"} /\ Change(p)
       \/ x = "touch" /\ Touch(p)
       \/ x = "delete" /\ Delete(p)
       \/ x = "delkey" /\ DelKey(p)
       \/ x = "unread" /\ Unread(p)
       \/ x \in {"move", "replace", "return"} /\ Move(p)
       \/ x = "swap" /\ Swap(p)
       \/ x = "lookup" /\ Lookup(p)
       \/ x = "untagged" /\ Untagged(p)
       \/ x = "backfill" /\ Backfill(p)
    /\ UNCHANGED run

Crash(p) ==
    /\ me[p].pc \notin {"start", "done"} /\ left.crash > 0 /\ Who(p).kind # "lookup"
    /\ me' = [me EXCEPT ![p] = Done(me[p], "crashed")]
    /\ left' = [left EXCEPT !.crash = @ - 1]
    /\ UNCHANGED <<root, guard, parts, applied, late, run>>

Arrive == \E l \in late :
    /\ late' = late \ {l} /\ Accepted(l.q) /\ Apply(l.q)
    /\ UNCHANGED <<parts, left, me, run>>

\* The clock: a root item expires, and DynamoDB deletes it at some time.
Expire == \E k \in Keys :
    /\ Ttl /\ left.exp > 0 /\ root[k].st = "live" /\ ~root[k].exp
    /\ root' = [root EXCEPT ![k].exp = TRUE] /\ left' = [left EXCEPT !.exp = @ - 1]
    /\ UNCHANGED <<guard, parts, applied, late, me, run>>
Collect == \E k \in Keys :
    /\ root[k].exp /\ root' = [root EXCEPT ![k] = None]
    /\ UNCHANGED <<guard, parts, applied, late, left, me, run>>

\* The values that actors of a kind can have.
ValuesOf(kind) == CASE kind \in {"insert", "staged", "bulk", "replace"} -> Inserts
                    [] kind \in {"change", "patch", "untagged"} -> Changes
                    [] kind = "lookup" -> {Each(v) : v \in Vals}
                    [] OTHER -> {Each(1)}

\* When all actors have stopped, one inserts alone at a key that is free.
AllDone == \A p \in DOMAIN me : me[p].pc = "done"
Finish == \E v \in Inserts :
    /\ Final /\ ~Adoption /\ AllDone /\ 8 \notin DOMAIN me /\ root[3].st = "none"
    /\ me' = me @@ (8 :> Fresh) /\ run' = [run EXCEPT !.cast = run.cast @@ (8 :> [kind |-> "insert", k |-> 3, v |-> v])]
    /\ late' = {} /\ left' = [lost |-> 0, late |-> 0, crash |-> 0, exp |-> 0]
    /\ UNCHANGED <<root, guard, parts, applied>>
\* The order of actors in a cast.
Index(x) == CHOOSE i \in 1 .. Len(AllKinds) : AllKinds[i] = x
Num(a) == 1000 * Index(a.kind) + 100 * a.k + 10 * a.v[1] + (IF 2 \in Fields THEN a.v[2] ELSE 0)

\* When the programs without the tag have stopped, a pass of the backfill runs, and at the same time one or two writers
\* with the tag.
Writers == UNION {[kind : {x}, k : IF x = "insert" THEN {3} ELSE {1, 2}, v : ValuesOf(x)] :
                  x \in {"insert", "change", "move", "delete"}}
Pass == \E w, other \in Writers :
    /\ Adoption /\ AllDone /\ 6 \notin DOMAIN me /\ (IF TwoWriters THEN Num(w) <= Num(other) ELSE w = other)
    /\ LET backfill(at) == [kind |-> "backfill", k |-> at, v |-> Each(1)]
           one == (6 :> backfill(1)) @@ (7 :> backfill(2)) @@ (9 :> backfill(3)) @@ (8 :> w)
           all == IF TwoWriters THEN one @@ (5 :> other) ELSE one
       IN /\ run' = [run EXCEPT !.cast = @ @@ all]
          /\ me' = me @@ [p \in DOMAIN all |-> Fresh]
    /\ late' = {} /\ left' = [left EXCEPT !.lost = 0, !.late = 0, !.crash = 0]
    /\ UNCHANGED <<root, guard, parts, applied>>

NextCore == Arrive \/ Expire \/ Collect \/ Finish \/ Pass \/ \E p \in DOMAIN me : Step(p) \/ Crash(p)

\* The history of a call: the entities that owned its value at some instant, and whether the value had no owner at some instant.
Now(roots, val) == [f \in Fields |->
    LET own == {k \in Keys : Owns(roots[k], f, val[f])}
    IN [own |-> {<<k, roots[k].a>> : k \in own}, free |-> own = {}]]
Watched == {"lookup", "insert", "staged", "bulk", "change", "patch", "replace"}
HistNext == hist' = [p \in DOMAIN me' |->
    LET now == Now(root', run'.cast[p].v)
    IN IF p \notin DOMAIN hist THEN now
       ELSE IF Who(p).kind \notin Watched \/ me[p].pc = "done" THEN hist[p]
       ELSE IF me'[p].pc = "start" THEN now
       ELSE [f \in Fields |-> [own |-> hist[p][f].own \union now[f].own, free |-> hist[p][f].free \/ now[f].free]]]
\* The states of each item since the start, for eventually consistent reads.
PastNext == past' = IF ~Eventual THEN past
                    ELSE [r |-> [k \in Keys |-> past.r[k] \union {root'[k]}],
                          g |-> [x \in GuardKeys |-> past.g[x] \union {guard'[x]}]]

Next == NextCore /\ HistNext /\ PastNext

KeysOf(kind) == IF kind \in {"swap", "lookup", "return"} THEN {1} ELSE {1, 2}
Actors == UNION {[kind : {x}, k : KeysOf(x), v : ValuesOf(x)] : x \in Kinds}
Casts == {c \in [1 .. NActors -> Actors] : \A i, j \in 1 .. NActors : i < j => Num(c[i]) <= Num(c[j])}

Init ==
    /\ run \in [cast : Casts, start : Starts]
    /\ root = Stored(run.start).r /\ guard = Stored(run.start).g /\ parts = {}
    /\ applied = {} /\ late = {}
    /\ left = [lost |-> MaxLost, late |-> MaxLate, crash |-> MaxCrash, exp |-> IF Ttl THEN 1 ELSE 0]
    /\ me = [p \in 1 .. NActors |-> Fresh]
    /\ hist = [p \in 1 .. NActors |-> Now(root, run.cast[p].v)]
    /\ past = IF ~Eventual THEN [r |-> 0, g |-> 0]
              ELSE [r |-> [k \in Keys |-> {root[k]}], g |-> [x \in GuardKeys |-> {guard[x]}]]

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
\* Adoption guarantees nothing for a new field until a complete pass of the backfill has ended without a duplicate.
Enforced(f) == ~Adoption \/ f \in Adopted \/ (6 \in DOMAIN me /\ \A p \in {6, 7, 9} : me[p].res = "ok")

\* A value has at most one live owner.
OneOwner == \A x \in GuardKeys : Enforced(x[1]) => Cardinality(Owners(x[1], x[2])) <= 1
\* A live root item has its guards. This includes an expired one that is still stored: a patch may extend its time to live.
Guarded == \A k \in Keys, f \in Fields : Enforced(f) /\ root[k].st = "live" /\ root[k].val[f] # Empty =>
    guard[<<f, root[k].val[f]>>].o = k /\ guard[<<f, root[k].val[f]>>].a = root[k].a
\* A value that is reported as taken had an owner at some instant of the call. A move finds its own guards, except in adoption.
TakenIsTrue == \A p \in DOMAIN me : me[p].res = "taken" =>
    IF Who(p).kind \in {"move", "return"} THEN Adoption ELSE \A f \in me[p].todo : hist[p][f].own # {}
\* The result of a lookup was true at some instant of the call. If an eventually consistent read found the entity, it owned the
\* value while its root item was as that read returned it.
LookupTrue == ~Adoption => \A p \in DOMAIN me : Who(p).kind = "lookup" =>
    /\ me[p].res = "found" => Owns(me[p].it, 1, V(p)[1])
    /\ me[p].res = "found" /\ me[p].n = 1 => <<me[p].gs[1].o, me[p].it.a>> \in hist[p][1].own
    /\ me[p].res = "notfound" => hist[p][1].free
\* A live entity has all its items.
Whole == Parts => \A k \in Keys :
    root[k].st = "live" /\ root[k].a \in DOMAIN me /\ Who(root[k].a).kind \in {"staged", "bulk"} => root[k].a \in parts
\* A refused insert is not stored.
RefusedIsNotStored == \A p \in DOMAIN me : Who(p).kind \in {"insert", "staged", "bulk"} /\ me[p].res \in {"taken", "refused", "exists"} =>
    \A k \in Keys : root[k].st = "live" => root[k].a # p
\* An actor that runs alone gets values without owner, and is refused one with an owner.
AloneSucceeds == ~Adoption /\ 8 \in DOMAIN me /\ me[8].pc = "done" => me[8].res \in {"ok", "taken"}
=============================================================================
