------------------------------- MODULE Unique -------------------------------
(* Unique values. A guard is an item whose key is the value. It names the     *)
(* entity that owns the value. Several actors write guards and root items.    *)
(* Answers can be lost, requests can be late, and actors can crash.           *)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS NActors, Kinds, Starts, Ttl, MaxLost, MaxLate, MaxCrash, Final, Adoption,
    Incarnation,      \* a guard names the incarnation of its owner, and a judge compares it
    RootAfterGuard,   \* a judge reads the owner's root item after the guard
    DeletesExpired,   \* an actor that takes a value from an expired root item deletes that in the same transaction
    GuardVersion,     \* an actor takes a guard on condition of its version
    GuardAtEnd,       \* a staged insert takes its guard in the transaction that makes the root item live
    OldInSame,        \* a change deletes the old value's guard in its own transaction
    ReleaseAfterRoot, \* a delete releases guards after it has deleted or marked the root item
    ReleaseLiveOnly,  \* and only if it has seen the root item live, since a claim that is sent again has the same incarnation
    ReleaseOwnOnly,   \* and only if they still name the owner's incarnation
    MoveGuard,        \* a move writes the guards of the new key
    LookTwice,        \* a lookup that finds no owner reads the guard again
    ReadFirst,        \* a patch of a unique field reads the root item first
    ValueCounts       \* a guard is free if its owner has another value

Keys == {1, 2, 3}
Vals == {1, 2}
AllKinds == <<"insert", "staged", "change", "patch", "touch", "delete", "delkey", "move", "swap", "lookup", "untagged", "backfill">>

VARIABLES root, guard, applied, late, left, me, run, hist
vars == <<root, guard, applied, late, left, me, run, hist>>

None == [st |-> "none", a |-> 0, ver |-> 0, val |-> 0, exp |-> FALSE]
Root(a, ver, st, val) == [st |-> st, a |-> a, ver |-> ver, val |-> val, exp |-> FALSE]
Free == [o |-> 0, a |-> 0, ver |-> 0]
Guard(o, a, ver) == [o |-> o, a |-> a, ver |-> ver]
Token(p, n) == 100 * p + n
Seen(i) == i.st = "live" /\ ~i.exp

Owns(i, v) == Seen(i) /\ i.val = v
Owners(v) == {k \in Keys : Owns(root[k], v)}

\* The starts. The entity at key k has incarnation 10k; an entity that followed one has 10k+1.
Live0(k, v) == Root(10 * k, 10 * k, "live", v)
Guard0(k, v) == Guard(k, 10 * k, 900 + v)
Roots1(i) == [k \in Keys |-> IF k = 1 THEN i ELSE None]
Guards1 == [v \in Vals |-> IF v = 1 THEN Guard0(1, 1) ELSE Free]
NoGuards == [v \in Vals |-> Free]
Stored(s) ==
  CASE s = "empty" -> [r |-> Roots1(None), g |-> NoGuards]
    [] s = "one" -> [r |-> Roots1(Live0(1, 1)), g |-> Guards1]
    [] s = "two" -> [r |-> [k \in Keys |-> IF k = 3 THEN None ELSE Live0(k, k)], g |-> [v \in Vals |-> Guard0(v, v)]]
    [] s = "orphan" -> [r |-> Roots1(None), g |-> Guards1]
    [] s = "older" -> [r |-> Roots1(Root(11, 11, "live", 2)), g |-> [v \in Vals |-> IF v = 1 THEN Guard0(1, 1) ELSE Guard(1, 11, 902)]]
    [] s = "expired" -> [r |-> Roots1([Live0(1, 1) EXCEPT !.exp = TRUE]), g |-> Guards1]
    [] s = "deleting" -> [r |-> Roots1([Live0(1, 1) EXCEPT !.st = "deleting"]), g |-> Guards1]
    [] s = "pending" -> [r |-> Roots1([Live0(1, 1) EXCEPT !.st = "inserting"]), g |-> NoGuards]
    \* adoption: stored before the field was unique
    [] s = "unguarded" -> [r |-> [k \in Keys |-> IF k = 3 THEN None ELSE Live0(k, k)], g |-> NoGuards]
    [] s = "duplicates" -> [r |-> [k \in Keys |-> IF k = 3 THEN None ELSE Live0(k, 1)], g |-> NoGuards]

-----------------------------------------------------------------------------
(* A request has conditions and writes of root items (r) and of guards (g),   *)
(* and a token (t), or 0.                                                     *)
RW(c, v, new) == [c |-> c, v |-> v, new |-> new]
GW(c, x, new) == [c |-> c, x |-> x, new |-> new]
NoR == [k \in {} |-> 0]
NoG == [v \in {} |-> 0]
AsStored == 9 \* the value of a patch that leaves the value as it is

MeetsR(i, w) == CASE w.c = "absent" -> i.st = "none"
                  [] w.c = "ver" -> i.st # "none" /\ i.ver = w.v
                  [] w.c = "live" -> i.st = "live"
Names(i, x) == i.o = x.o /\ (i.a = x.a \/ ~Incarnation)
MeetsG(i, w) == CASE w.c = "absent" -> i.o = 0
                  [] w.c = "ver" -> i.ver = w.x.ver
                  [] w.c = "own" -> Names(i, w.x)
                  [] w.c = "own or absent" -> i.o = 0 \/ Names(i, w.x)
                  [] w.c = "any" -> TRUE

Passes(q) == /\ \A k \in DOMAIN q.r : MeetsR(root[k], q.r[k])
             /\ \A v \in DOMAIN q.g : MeetsG(guard[v], q.g[v])
Before(q) == q.t # 0 /\ q.t \in applied
Accepted(q) == Before(q) \/ Passes(q)
NewRoot(k, w) == IF w.c = "live" THEN [root[k] EXCEPT !.ver = w.new.ver, !.exp = FALSE,
                                                      !.val = IF w.new.val = AsStored THEN @ ELSE w.new.val]
                 ELSE w.new
Apply(q) == IF Before(q) THEN UNCHANGED <<root, guard, applied>>
            ELSE /\ root' = [k \in Keys |-> IF k \in DOMAIN q.r THEN NewRoot(k, q.r[k]) ELSE root[k]]
                 /\ guard' = [v \in Vals |-> IF v \in DOMAIN q.g THEN q.g[v].new ELSE guard[v]]
                 /\ applied' = IF q.t # 0 THEN applied \union {q.t} ELSE applied

\* The actor gets an answer; or the request is applied without an answer; or it is late.
Send(p, q, ok, refused, lost) ==
    \/ /\ IF Accepted(q) THEN Apply(q) ELSE UNCHANGED <<root, guard, applied>>
       /\ me' = [me EXCEPT ![p] = IF Accepted(q) THEN ok ELSE refused]
       /\ UNCHANGED <<late, left>>
    \/ /\ left.lost > 0 /\ Passes(q) /\ ~Before(q)
       /\ Apply(q) /\ me' = [me EXCEPT ![p] = lost]
       /\ left' = [left EXCEPT !.lost = @ - 1] /\ UNCHANGED late
    \/ /\ left.late > 0
       /\ late' = late \union {[p |-> p, q |-> q]}
       /\ me' = [me EXCEPT ![p] = lost]
       /\ left' = [left EXCEPT !.late = @ - 1] /\ UNCHANGED <<root, guard, applied>>

Go(p, next) == me' = [me EXCEPT ![p] = next] /\ UNCHANGED <<root, guard, applied, late, left>>

-----------------------------------------------------------------------------
Fresh == [pc |-> "start", res |-> "none", n |-> 0, unresolved |-> FALSE,
          it |-> None,                 \* the root item as loaded, or the actor's own claim
          rc |-> "absent", rv |-> 0,   \* the condition of the root item's put
          gs |-> Free,                 \* the guard in the way, judged free; Free for none
          old |-> None,                \* the owner's root item as it was before the guard was read (naive)
          expired |-> 0, expver |-> 0] \* the expired root item that the transaction deletes
Done(m, res) == [Fresh EXCEPT !.pc = "done", !.res = res, !.it = m.it]
Who(p) == run.cast[p]
K(p) == Who(p).k
V(p) == Who(p).v
Fail(m, r) == IF m.unresolved THEN "unknown" ELSE r
Forget(m) == [m EXCEPT !.gs = Free, !.expired = 0, !.expver = 0, !.n = @ + 1]

\* Take value V(p) for incarnation a of key k, on condition c if no guard was judged.
Take(p, k, a, c) ==
    LET m == me[p]
        new == Guard(k, a, Token(p, 50 + m.n))
        own == Guard(k, IF Incarnation THEN a ELSE m.it.a, 0)
    IN V(p) :> (IF m.gs = Free THEN GW(c, own, new)
                ELSE IF GuardVersion THEN GW("ver", m.gs, new) ELSE GW("any", m.gs, new))
DeleteExpired(p) == IF me[p].expired \notin {0, K(p)} THEN me[p].expired :> RW("ver", me[p].expver, None) ELSE NoR

InTheWay(p) == guard[V(p)].o # 0 /\ ~(me[p].gs # Free /\ guard[V(p)].ver = me[p].gs.ver)

\* The actor judges the guard in the way by the owner's root item, which it reads now.
JudgeGuard(p, back, mine) ==
    LET m == me[p]
        r == IF RootAfterGuard THEN root[m.gs.o] ELSE m.old
        same == r.st = "live" /\ (r.a = m.gs.a \/ ~Incarnation) /\ (r.val = V(p) \/ ~ValueCounts)
    IN /\ m.pc = "judge"
       /\ Go(p, IF same /\ ~r.exp /\ ~(m.gs.o = K(p) /\ m.gs.a = mine) THEN [m EXCEPT !.pc = "taken"]
                ELSE IF same /\ r.exp /\ DeletesExpired
                     THEN [m EXCEPT !.pc = back, !.n = @ + 1, !.expired = m.gs.o, !.expver = r.ver]
                ELSE [m EXCEPT !.pc = back, !.n = @ + 1, !.expired = 0, !.expver = 0])

\* Inserts an entity in one transaction.
ReadOwnerFirst(p) == \* naive: before the guard
    /\ ~RootAfterGuard /\ me[p].pc = "start" /\ me[p].n = 0
    /\ Go(p, [me[p] EXCEPT !.old = root[1], !.n = 1])

Insert(p) ==
    LET m == me[p]
        q == [t |-> Token(p, m.n),
              r |-> (K(p) :> RW(m.rc, m.rv, Root(p, Token(p, m.n), "live", V(p)))) @@ DeleteExpired(p),
              g |-> Take(p, K(p), p, "absent")]
        i == root[K(p)]
        over == [m EXCEPT !.rc = IF i.st = "none" THEN "absent" ELSE "ver", !.rv = i.ver] \* takes over the item with its key
    IN \/ ReadOwnerFirst(p)
       \/ /\ m.pc = "start" /\ (RootAfterGuard \/ m.n > 0)
          /\ Send(p, q, Done(m, "ok"),
               IF m.unresolved THEN Done(m, "unknown")
               ELSE IF Seen(i) THEN Done(m, "exists")
               ELSE IF InTheWay(p) THEN [over EXCEPT !.pc = "judge", !.gs = guard[V(p)]]
               ELSE IF guard[V(p)].o = 0 /\ m.gs # Free THEN Forget(m)
               ELSE IF m.expired # 0 /\ ~(root[m.expired].st # "none" /\ root[m.expired].ver = m.expver) THEN [m EXCEPT !.pc = "judge"]
               ELSE [over EXCEPT !.n = @ + 1],
               [m EXCEPT !.unresolved = TRUE])
       \/ JudgeGuard(p, "start", p)
       \/ m.pc = "taken" /\ Go(p, Done(m, "taken"))

\* A staged insert: its root item is a claim, and then goes live. Its other items are not modelled.
Claim(p) ==
    LET m == me[p]
        new == Root(p, Token(p, m.n), "inserting", V(p))
        i == root[K(p)]
        claimed(c) == [m EXCEPT !.pc = IF GuardAtEnd THEN "golive" ELSE "guard", !.it = c, !.n = @ + 1]
    IN /\ m.pc = "start"
       /\ Send(p, [t |-> 0, r |-> K(p) :> RW(m.rc, m.rv, new), g |-> NoG],
               claimed(new),
               IF i.a = p /\ i.st = "inserting" THEN claimed(i)
               ELSE IF Seen(i) THEN Done(m, Fail(m, "exists"))
               ELSE [m EXCEPT !.rc = IF i.st = "none" THEN "absent" ELSE "ver", !.rv = i.ver, !.n = @ + 1],
               [m EXCEPT !.n = @ + 1])
GoLive(p, guards, expired) ==
    LET m == me[p]
        i == root[K(p)]
        live == [m.it EXCEPT !.st = "live", !.ver = Token(p, 20 + m.n)]
    IN Send(p, [t |-> Token(p, m.n), r |-> (K(p) :> RW("ver", m.it.ver, live)) @@ expired, g |-> guards],
            Done(m, "ok"),
            IF i.a = p /\ i.st = "live" THEN Done(m, "ok")
            ELSE IF m.unresolved THEN Done(m, "unknown")
            ELSE IF ~(i.a = p /\ i.st = "inserting") \/ i.ver # m.it.ver THEN [m EXCEPT !.pc = "undo"]
            ELSE IF InTheWay(p) THEN [m EXCEPT !.pc = "judge", !.gs = guard[V(p)]]
            ELSE IF guard[V(p)].o = 0 /\ m.gs # Free THEN Forget(m)
            ELSE [m EXCEPT !.pc = "judge"],
            [m EXCEPT !.unresolved = TRUE])
Staged(p) ==
    LET m == me[p]
        x == guard[V(p)]
    IN \/ Claim(p)
       \/ m.pc = "guard" /\ Send(p, [t |-> 0, r |-> NoR, g |-> Take(p, K(p), p, "own or absent")], \* naive: before the root item is live
                                 [m EXCEPT !.pc = "golivebare"],
                                 IF x.o = K(p) /\ x.a = p THEN [m EXCEPT !.pc = "golivebare"] ELSE [m EXCEPT !.pc = "judge", !.gs = x], m)
       \/ m.pc = "golivebare" /\ GoLive(p, NoG, NoR)
       \/ m.pc = "golive" /\ GoLive(p, Take(p, K(p), p, "absent"), DeleteExpired(p))
       \/ JudgeGuard(p, IF GuardAtEnd THEN "golive" ELSE "guard", p)
       \/ m.pc = "taken" /\ Go(p, [m EXCEPT !.pc = "undotaken"])
       \/ m.pc \in {"undo", "undotaken"} /\ LET next == Done(m, IF m.pc = "undotaken" THEN "taken" ELSE "refused")
                           IN Send(p, [t |-> 0, r |-> K(p) :> RW("ver", m.it.ver, None), g |-> NoG], next, next, next)

\* Changes the value of a loaded entity. A patch does the same, and reads again if another writer was faster.
Load(p) ==
    /\ me[p].pc = "start"
    /\ Go(p, IF Seen(root[K(p)]) THEN [me[p] EXCEPT !.pc = IF Who(p).kind = "patch" /\ ~ReadFirst THEN "blind" ELSE "send", !.it = root[K(p)]]
             ELSE Done(me[p], "notfound"))
Change(p) ==
    LET m == me[p]
        old == m.it.val
        own == Guard(K(p), m.it.a, 0)
        release == IF old # 0 /\ old # V(p) /\ OldInSame THEN old :> GW("own or absent", own, Free) ELSE NoG
        new == [m.it EXCEPT !.val = V(p), !.ver = Token(p, m.n)]
        q == [t |-> Token(p, m.n),
              r |-> (K(p) :> RW("ver", m.it.ver, new)) @@ DeleteExpired(p),
              g |-> Take(p, K(p), m.it.a, "own or absent") @@ release]
        i == root[K(p)]
        ok == IF OldInSame \/ old \in {0, V(p)} THEN Done(m, "ok") ELSE [m EXCEPT !.pc = "release"]
        oldOfOther == old # 0 /\ old # V(p) /\ ~MeetsG(guard[old], GW("own or absent", own, Free))
    IN \/ Load(p)
       \/ /\ m.pc = "send"
          /\ Send(p, q, ok,
               IF m.unresolved THEN Done(m, "unknown")
               ELSE IF i.ver # m.it.ver \/ i.st # "live"
                    THEN IF Who(p).kind = "patch" /\ m.n < 3 THEN [Forget(m) EXCEPT !.pc = "start"] ELSE Done(m, "conflict")
               ELSE IF oldOfOther THEN [m EXCEPT !.it.val = 0, !.n = @ + 1] \* the old guard is left as it is
               ELSE IF InTheWay(p) THEN [m EXCEPT !.pc = "judge", !.gs = guard[V(p)]]
               ELSE IF guard[V(p)].o = 0 /\ m.gs # Free THEN Forget(m)
               ELSE [m EXCEPT !.pc = "judge"],
               [m EXCEPT !.unresolved = TRUE])
       \/ JudgeGuard(p, "send", m.it.a)
       \/ m.pc = "taken" /\ Go(p, Done(m, "taken"))
       \/ m.pc = "release" /\ LET next == Done(m, "ok") IN Send(p, [t |-> 0, r |-> NoR, g |-> old :> GW("own", own, Free)], next, next, next)
       \* naive: the patch has read the root's incarnation only, and leaves the old guard
       \/ m.pc = "blind" /\ Send(p, [t |-> Token(p, m.n), r |-> K(p) :> RW("live", 0, Root(0, Token(p, m.n), "live", V(p))),
                                     g |-> Take(p, K(p), m.it.a, "own or absent")],
                                 Done(m, "ok"), Done(m, "refused"), [m EXCEPT !.unresolved = TRUE])

\* A patch of another field of the root item, which also moves its expiry.
Touch(p) ==
    LET m == me[p] IN
    /\ m.pc = "start"
    /\ Send(p, [t |-> 0, r |-> K(p) :> RW("live", 0, Root(0, Token(p, 0), "live", AsStored)), g |-> NoG],
            Done(m, "ok"), Done(m, "notfound"), Done(m, "unknown"))

Release(m, p) == [t |-> 0, r |-> NoR, g |-> m.it.val :> GW(IF ReleaseOwnOnly THEN "own" ELSE "any", Guard(K(p), m.it.a, 0), Free)]

\* Deletes a loaded entity in one transaction, and then its guard.
Delete(p) ==
    LET m == me[p]
        i == root[K(p)]
        next == IF m.it.val = 0 \/ ~ReleaseAfterRoot THEN Done(m, "ok") ELSE [m EXCEPT !.pc = "release"]
        send == [m EXCEPT !.pc = "send"]
    IN \/ /\ m.pc = "start"
          /\ Go(p, IF Seen(i) THEN [m EXCEPT !.pc = IF ReleaseAfterRoot \/ i.val = 0 THEN "send" ELSE "first", !.it = i] ELSE Done(m, "notfound"))
       \/ m.pc = "first" /\ Send(p, Release(m, p), send, send, send) \* naive
       \/ m.pc = "send" /\ Send(p, [t |-> Token(p, 1), r |-> K(p) :> RW("ver", m.it.ver, None), g |-> NoG], next,
                                Done(m, Fail(m, "conflict")), [m EXCEPT !.unresolved = TRUE])
       \/ m.pc = "release" /\ Send(p, Release(m, p), Done(m, "ok"), Done(m, "ok"), Done(m, "ok"))

\* A staged delete by key: the mark, the root item, the guard. rv is 1 if the delete has seen the root item live.
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
       \/ m.pc = "root" /\ LET next == IF m.it.val = 0 \/ m.rv = 0 THEN Done(m, "ok") ELSE [m EXCEPT !.pc = "release"]
                           IN Send(p, [t |-> 0, r |-> K(p) :> RW("ver", m.it.ver, None), g |-> NoG], next, next, m)
       \/ m.pc = "release" /\ Send(p, Release(m, p), Done(m, "ok"), Done(m, "ok"), Done(m, "ok"))

\* Moves an entity from K(p) to key 3.
Move(p) ==
    LET m == me[p]
        v == m.it.val
        guards == IF v # 0 /\ MoveGuard THEN v :> GW("own or absent", Guard(K(p), m.it.a, 0), Guard(3, p, Token(p, 60))) ELSE NoG
    IN \/ m.pc = "start" /\ Go(p, IF Seen(root[K(p)]) /\ K(p) # 3 THEN [m EXCEPT !.pc = "send", !.it = root[K(p)]] ELSE Done(m, "notfound"))
       \/ m.pc = "send" /\ Send(p, [t |-> Token(p, 1),
                                    r |-> (K(p) :> RW("ver", m.it.ver, None)) @@ (3 :> RW("absent", 0, Root(p, Token(p, 2), "live", v))),
                                    g |-> guards],
                                Done(m, "ok"), Done(m, Fail(m, "conflict")), [m EXCEPT !.unresolved = TRUE])

\* Exchanges the values of keys 1 and 2 in one transaction. Each guard is one write.
Swap(p) ==
    LET m == me[p]
        x == m.it
        y == m.old
    IN \/ m.pc = "start" /\ Go(p, IF Seen(root[1]) /\ root[1].val # 0 THEN [m EXCEPT !.pc = "second", !.it = root[1]] ELSE Done(m, "notfound"))
       \/ m.pc = "second" /\ Go(p, IF Seen(root[2]) /\ root[2].val \notin {0, x.val} THEN [m EXCEPT !.pc = "send", !.old = root[2]]
                                   ELSE Done(m, "notfound"))
       \/ m.pc = "send" /\ Send(p, [t |-> Token(p, 1),
              r |-> (1 :> RW("ver", x.ver, [x EXCEPT !.val = y.val, !.ver = Token(p, 2)]))
                    @@ (2 :> RW("ver", y.ver, [y EXCEPT !.val = x.val, !.ver = Token(p, 3)])),
              g |-> (x.val :> GW("own", Guard(1, x.a, 0), Guard(2, y.a, Token(p, 60))))
                    @@ (y.val :> GW("own", Guard(2, y.a, 0), Guard(1, x.a, Token(p, 61))))],
              Done(m, "ok"), Done(m, Fail(m, "conflict")), [m EXCEPT !.unresolved = TRUE])

\* Finds the entity with a value: the guard, the root item, and the guard again if that entity is not the owner.
Lookup(p) ==
    LET m == me[p]
        x == guard[V(p)]
    IN \/ m.pc = "start" /\ Go(p, IF x.o = 0 THEN Done(m, "notfound") ELSE [m EXCEPT !.pc = "root", !.gs = x])
       \/ m.pc = "root" /\ LET r == root[m.gs.o] IN
           Go(p, IF Owns(r, V(p)) /\ r.a = m.gs.a THEN [Done(m, "found") EXCEPT !.gs = m.gs]
                 ELSE IF LookTwice THEN [m EXCEPT !.pc = "again"] ELSE Done(m, "notfound"))
       \/ m.pc = "again" /\ Go(p, IF x.o = 0 \/ x.ver = m.gs.ver THEN Done(m, "notfound") ELSE [m EXCEPT !.pc = "root", !.gs = x])

\* A program without the tag: sets the value, or inserts.
Untagged(p) ==
    LET m == me[p] IN
    /\ m.pc = "start"
    /\ Send(p, [t |-> 0, r |-> K(p) :> (IF root[K(p)].st = "none" THEN RW("absent", 0, Root(p, Token(p, 0), "live", V(p)))
                                        ELSE RW("live", 0, Root(0, Token(p, 0), "live", V(p)))), g |-> NoG],
            Done(m, "ok"), Done(m, "refused"), Done(m, "unknown"))

\* The backfill of one entity: its guard, and a check of the root item as read.
Backfill(p) ==
    LET m == me[p]
        i == root[K(p)]
        v == m.it.val
        new == Guard(K(p), m.it.a, Token(p, 50 + m.n))
        guards == v :> (IF m.gs = Free THEN GW("own or absent", Guard(K(p), m.it.a, 0), new) ELSE GW("ver", m.gs, new))
        r == root[m.gs.o]
        same == r.st = "live" /\ r.a = m.gs.a /\ r.val = v
    IN \/ m.pc = "start" /\ Go(p, IF i.st # "live" \/ i.val = 0 THEN Done(m, "ok") ELSE [m EXCEPT !.pc = "send", !.it = i])
       \/ m.pc = "send" /\ Send(p, [t |-> Token(p, m.n), r |-> (K(p) :> RW("ver", m.it.ver, m.it)) @@ DeleteExpired(p), g |-> guards],
                                Done(m, "ok"),
                                IF i.st # "live" \/ i.ver # m.it.ver THEN [Forget(m) EXCEPT !.pc = "start"]
                                ELSE IF guard[v].o # 0 THEN [m EXCEPT !.pc = "judge", !.gs = guard[v]]
                                ELSE [m EXCEPT !.gs = Free, !.expired = 0, !.n = @ + 1],
                                m)
       \/ m.pc = "judge" /\ Go(p, IF same /\ ~r.exp THEN Done(m, "duplicate")
                                  ELSE IF same THEN [m EXCEPT !.pc = "send", !.n = @ + 1, !.expired = m.gs.o, !.expver = r.ver]
                                  ELSE [m EXCEPT !.pc = "send", !.n = @ + 1, !.expired = 0])

Step(p) ==
    /\ me[p].pc # "done"
    /\ LET x == Who(p).kind IN
       \/ x = "insert" /\ Insert(p)
       \/ x = "staged" /\ Staged(p)
       \/ x \in {"change", "patch"} /\ Change(p)
       \/ x = "touch" /\ Touch(p)
       \/ x = "delete" /\ Delete(p)
       \/ x = "delkey" /\ DelKey(p)
       \/ x = "move" /\ Move(p)
       \/ x = "swap" /\ Swap(p)
       \/ x = "lookup" /\ Lookup(p)
       \/ x = "untagged" /\ Untagged(p)
       \/ x = "backfill" /\ Backfill(p)
    /\ UNCHANGED run

Crash(p) ==
    /\ me[p].pc \notin {"start", "done"} /\ left.crash > 0 /\ Who(p).kind # "lookup"
    /\ me' = [me EXCEPT ![p] = Done(me[p], "crashed")]
    /\ left' = [left EXCEPT !.crash = @ - 1]
    /\ UNCHANGED <<root, guard, applied, late, run>>

Arrive == \E l \in late :
    /\ late' = late \ {l} /\ Accepted(l.q) /\ Apply(l.q)
    /\ UNCHANGED <<left, me, run>>

\* The clock: a root item expires, and DynamoDB deletes it at some time.
Expire == \E k \in Keys :
    /\ Ttl /\ left.exp > 0 /\ root[k].st = "live" /\ ~root[k].exp
    /\ root' = [root EXCEPT ![k].exp = TRUE] /\ left' = [left EXCEPT !.exp = @ - 1]
    /\ UNCHANGED <<guard, applied, late, me, run>>
Collect == \E k \in Keys :
    /\ root[k].exp /\ root' = [root EXCEPT ![k] = None]
    /\ UNCHANGED <<guard, applied, late, left, me, run>>

\* When all actors have stopped, one inserts alone at a key that is free.
AllDone == \A p \in DOMAIN me : me[p].pc = "done"
Finish == \E v \in Vals :
    /\ Final /\ ~Adoption /\ AllDone /\ 8 \notin DOMAIN me /\ root[3].st = "none"
    /\ me' = me @@ (8 :> Fresh) /\ run' = [run EXCEPT !.cast = run.cast @@ (8 :> [kind |-> "insert", k |-> 3, v |-> v])]
    /\ late' = {} /\ left' = [lost |-> 0, late |-> 0, crash |-> 0, exp |-> 0]
    /\ UNCHANGED <<root, guard, applied>>
\* When the programs without the tag have stopped, a pass of the backfill runs, and at the same time a writer with the tag.
Pass == \E x \in {"insert", "change", "move", "delete"}, k \in {1, 2}, v \in Vals :
    /\ Adoption /\ AllDone /\ 6 \notin DOMAIN me /\ (x = "insert" => k = 2) /\ (x \in {"move", "delete"} => v = 1)
    /\ me' = me @@ (6 :> Fresh) @@ (7 :> Fresh) @@ (8 :> Fresh) @@ (9 :> Fresh)
    /\ run' = [run EXCEPT !.cast = run.cast @@ (6 :> [kind |-> "backfill", k |-> 1, v |-> 1]) @@ (7 :> [kind |-> "backfill", k |-> 2, v |-> 1])
                   @@ (9 :> [kind |-> "backfill", k |-> 3, v |-> 1])
                   @@ (8 :> [kind |-> x, k |-> IF x = "insert" THEN 3 ELSE k, v |-> v])]
    /\ late' = {} /\ left' = [left EXCEPT !.lost = 0, !.late = 0, !.crash = 0]
    /\ UNCHANGED <<root, guard, applied>>

NextCore == Arrive \/ Expire \/ Collect \/ Finish \/ Pass \/ \E p \in DOMAIN me : Step(p) \/ Crash(p)

\* The history of a call: the entities that owned its value at some instant, and whether the value had no owner at some instant.
Now(roots, v) ==
    LET own == {k \in Keys : Owns(roots[k], v)}
    IN [own |-> {<<k, roots[k].a>> : k \in own}, free |-> own = {}]
HistNext == hist' = [p \in DOMAIN me' |->
    LET now == Now(root', run'.cast[p].v)
    IN IF p \notin DOMAIN hist THEN now
       ELSE IF Who(p).kind \notin {"lookup", "insert", "staged", "change", "patch"} \/ me[p].pc = "done" THEN hist[p]
       ELSE IF me'[p].pc = "start" THEN now
       ELSE [own |-> hist[p].own \union now.own, free |-> hist[p].free \/ now.free]]

Next == NextCore /\ HistNext

Index(x) == CHOOSE i \in 1 .. Len(AllKinds) : AllKinds[i] = x
Actors == {a \in [kind : Kinds, k : {1, 2}, v : Vals] :
             /\ a.kind \in {"delete", "delkey", "move", "touch", "backfill"} => a.v = 1
             /\ a.kind \in {"swap", "lookup"} => a.k = 1
             /\ a.kind = "swap" => a.v = 1}
Num(a) == 100 * Index(a.kind) + 10 * a.k + a.v
Casts == {c \in [1 .. NActors -> Actors] : \A i, j \in 1 .. NActors : i < j => Num(c[i]) <= Num(c[j])}

Init ==
    /\ run \in [cast : Casts, start : Starts]
    /\ root = Stored(run.start).r /\ guard = Stored(run.start).g
    /\ applied = {} /\ late = {}
    /\ left = [lost |-> MaxLost, late |-> MaxLate, crash |-> MaxCrash, exp |-> IF Ttl THEN 1 ELSE 0]
    /\ me = [p \in 1 .. NActors |-> Fresh]
    /\ hist = [p \in 1 .. NActors |-> Now(root, run.cast[p].v)]

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
\* Adoption guarantees nothing until a complete pass of the backfill has ended without a duplicate.
Enforced == ~Adoption \/ (6 \in DOMAIN me /\ \A p \in {6, 7, 9} : me[p].res = "ok")

\* A value has at most one live owner.
OneOwner == Enforced => \A v \in Vals : Cardinality(Owners(v)) <= 1
\* A live root item has its guard. This includes an expired one that is still stored: a patch may extend its time to live.
Guarded == Enforced => \A k \in Keys : root[k].st = "live" /\ root[k].val # 0 => guard[root[k].val].o = k /\ guard[root[k].val].a = root[k].a
\* A value that is reported as taken had an owner at some instant of the call.
TakenIsTrue == \A p \in DOMAIN me : me[p].res = "taken" => hist[p].own # {}
\* The result of a lookup was true at some instant of the call.
LookupTrue == ~Adoption => \A p \in DOMAIN me : Who(p).kind = "lookup" =>
    /\ me[p].res = "found" => <<me[p].gs.o, me[p].gs.a>> \in hist[p].own
    /\ me[p].res = "notfound" => hist[p].free
\* An actor that runs alone gets a value without owner, and is refused one with an owner.
AloneSucceeds == ~Adoption /\ 8 \in DOMAIN me /\ me[8].pc = "done" => me[8].res \in {"ok", "taken"}
=============================================================================
