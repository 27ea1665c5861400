------------------------------- MODULE Carry --------------------------------
(***************************************************************************)
(* An entity moves to another key in one transaction, while others add an  *)
(* element to it, delete it, insert another one under the old key, or move *)
(* it again.  An addition that was acknowledged before the move committed   *)
(* is found by a query of the old key, and carried to the new one.          *)
(* README.md says what each action is in the code.                          *)
(*                                                                          *)
(* Each key has a root and room for one element, which its adder may update *)
(* once.  A root has an incarnation: a number.  A move doubles it, so that  *)
(* an item tells whether it is of an incarnation before; an insert gives an *)
(* odd one.  With Bare the first entity has none, nor have its elements      *)
(* until it moves.  Without RootMoves the keys are those of elements alone:  *)
(* the root item stores which of them its elements have, and keeps its       *)
(* incarnation.                                                              *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Adders, Movers, Deleters, Inserters,  \* how many of each
    MaxCrash,            \* how many movers may stop between their requests
    RootMoves, Bare,     \* described above
    \* The clauses. Each is TRUE; README.md says what goes wrong without it.
    Carries,             \* a move carries what it finds under the old key
    CarryChecksRoot,     \* the transaction that carries requires the root of the new key, as the move has made it
    CarryNeedsRoom,      \* it requires that the new key has no element
    CarryTakesAsRead,    \* it requires the element of the old key as it was read
    LinkedIncarnations,  \* the incarnation of a move follows from the one before; otherwise it is new
    AddReadsRootAfter,   \* an addition is acknowledged after its root was read
    AddComparesFields,   \* and if the root stores the key of the element
    CarryComparesFields, \* the transaction that carries requires that the root stores the new key
    CarryNeedsNoEntity   \* one that carries an element without an incarnation requires that no entity has the old key

VARIABLES
    root,   \* by key: the incarnation of the live root, 0 for none
    el,     \* by key: the element there
    me,     \* the actors
    acked,  \* the adders whose addition was acknowledged
    upd,    \* those whose update of it was
    died,   \* incarnations of which an entity was deleted
    left,   \* how many crashes may still happen
    fresh   \* the next incarnation of an insert

vars == <<root, el, me, acked, upd, died, left, fresh>>

Keys == {1, 2}
Other(k) == 3 - k
None == [by |-> 0, inc |-> 0, ver |-> 0]
As == 1 .. Adders
Ms == Adders + 1 .. Adders + Movers
Ds == Adders + Movers + 1 .. Adders + Movers + Deleters
Is == Adders + Movers + Deleters + 1 .. Adders + Movers + Deleters + Inserters
All == As \union Ms \union Ds \union Is

First == 1 \* the incarnation of the first entity; with Bare, that it has none
Moved(i) == IF ~RootMoves THEN i ELSE IF LinkedIncarnations THEN 2 * i ELSE fresh
\* Whether an entity of incarnation i has moved, perhaps several times, and is of j now.
RECURSIVE Before(_, _)
Before(i, j) == i > 0 /\ j > 0 /\ (i = j \/ (j % 2 = 0 /\ Before(i, j \div 2)))
IsBare(e) == Bare /\ e.inc = First
\* Whether an element is seen in the entity of incarnation i: one without an incarnation in each.
Seen(e, i) == i > 0 /\ e # None /\ (e.inc = i \/ IsBare(e))
\* Whether the root that a writer reads is of incarnation i. Without RootMoves it is one item, at no matter which key of elements.
RootIs(k, i, compare) == IF RootMoves \/ compare THEN root[k] = i ELSE \E q \in Keys : root[q] = i
\* Whether an element under a key, where the entity of incarnation i is not, may be of that entity.
Lost(e, k, i) ==
    /\ e # None
    /\ IF RootMoves THEN e.inc # i /\ Before(e.inc, i) ELSE e.inc = i /\ root[k] # i

Init ==
    /\ root = [k \in Keys |-> IF k = 1 THEN 1 ELSE 0]
    /\ el = [k \in Keys |-> None]
    /\ me = [p \in All |-> [pc |-> "start", again |-> FALSE, k |-> 0, o |-> 0, inc |-> 0, to |-> 0, el |-> None, res |-> "none"]]
    /\ acked = {} /\ upd = {} /\ died = {} /\ left = MaxCrash /\ fresh = 3

Go(p, next) == me' = [me EXCEPT ![p] = next]
Done(p, res) == Go(p, [me[p] EXCEPT !.pc = "done", !.res = res])

-----------------------------------------------------------------------------
(* An addition: load, put, read the root; take the element back if the     *)
(* root is not that of the entity any more.                                *)

AddLoad(p) == \E k \in Keys :
    /\ me[p].pc = "start" /\ root[k] > 0
    /\ Go(p, [me[p] EXCEPT !.pc = "put", !.k = k, !.inc = root[k]])
    /\ UNCHANGED <<root, el, acked, died, left, fresh, upd>>

AddPut(p) ==
    /\ me[p].pc = "put"
    /\ LET k == me[p].k IN
       IF el[k] = None THEN /\ el' = [el EXCEPT ![k] = [by |-> p, inc |-> me[p].inc, ver |-> 0]]
                            /\ IF AddReadsRootAfter THEN Go(p, [me[p] EXCEPT !.pc = "root"]) /\ UNCHANGED acked
                               ELSE Done(p, "ok") /\ acked' = acked \union {p}
       ELSE Done(p, "exists") /\ UNCHANGED <<el, acked>>
    /\ UNCHANGED <<root, died, left, fresh, upd>>

AddRoot(p) ==
    /\ me[p].pc = "root"
    /\ IF RootIs(me[p].k, me[p].inc, AddComparesFields) THEN Done(p, "ok") /\ acked' = acked \union {p}
       ELSE Go(p, [me[p] EXCEPT !.pc = "back"]) /\ UNCHANGED acked
    /\ UNCHANGED <<root, el, died, left, fresh, upd>>

AddBack(p) ==
    /\ me[p].pc = "back"
    /\ el' = IF el[me[p].k] = [by |-> p, inc |-> me[p].inc, ver |-> 0] THEN [el EXCEPT ![me[p].k] = None] ELSE el
    /\ Done(p, "gone")
    /\ UNCHANGED <<root, acked, died, left, fresh, upd>>

\* An update of the element, where the adder knows it, on condition of its version.
AddUpdate(p) ==
    /\ me[p].pc = "done" /\ me[p].res = "ok" /\ p \notin upd
    /\ el[me[p].k] = [by |-> p, inc |-> me[p].inc, ver |-> 0]
    /\ el' = [el EXCEPT ![me[p].k].ver = 1] /\ upd' = upd \union {p}
    /\ UNCHANGED <<root, me, acked, died, left, fresh>>

-----------------------------------------------------------------------------
(* A move: load, one transaction, a query of the old key, and for what it   *)
(* finds a transaction that carries it.  What cannot be carried is reported. *)

MoveLoad(p) == \E k \in Keys :
    /\ me[p].pc = "start" /\ root[k] > 0
    /\ Go(p, [me[p] EXCEPT !.pc = "tx", !.k = k, !.inc = root[k], !.el = IF Seen(el[k], root[k]) THEN el[k] ELSE None])
    /\ UNCHANGED <<root, el, acked, died, left, fresh, upd>>

\* The element that was loaded has to be as it was; one that was added since is not seen. What is left over at the new key is
\* in the way, or replaced: here it is in the way.
MoveTx(p) ==
    /\ me[p].pc = "tx"
    /\ LET m == me[p] k == m.k o == Other(m.k) IN
       IF root[k] = m.inc /\ root[o] = 0 /\ (m.el # None => el[k] = m.el /\ el[o] = None)
       THEN /\ root' = [root EXCEPT ![k] = 0, ![o] = Moved(m.inc)]
            /\ el' = IF m.el = None THEN el ELSE [el EXCEPT ![k] = None, ![o] = [m.el EXCEPT !.inc = Moved(m.inc)]]
            /\ fresh' = IF LinkedIncarnations \/ ~RootMoves THEN fresh ELSE fresh + 2
            /\ Go(p, [m EXCEPT !.pc = "query", !.to = Moved(m.inc), !.o = o, !.el = None])
       ELSE Done(p, "conflict") /\ UNCHANGED <<root, el, fresh>>
    /\ UNCHANGED <<acked, died, left, upd>>

Query(p) ==
    /\ me[p].pc = "query"
    /\ LET m == me[p] e == el[m.k] IN
       IF IsBare(e) /\ RootMoves /\ root[m.k] > 0 THEN Done(p, "left")
       ELSE IF Lost(e, m.k, m.to)
       THEN IF Carries THEN Go(p, [m EXCEPT !.pc = "carry", !.el = e]) ELSE Done(p, "ok")
       ELSE Done(p, "ok")
    /\ UNCHANGED <<root, el, acked, died, left, fresh, upd>>

\* The element stays under its key if the entity has come back there.
CarryTx(p) ==
    /\ me[p].pc = "carry"
    /\ LET m == me[p] k == m.k o == m.o IN
       IF CarryTakesAsRead /\ el[k] # m.el THEN Go(p, [m EXCEPT !.pc = IF m.again THEN "find" ELSE "query", !.el = None]) /\ UNCHANGED el
       ELSE IF CarryChecksRoot /\ ~RootIs(o, m.to, CarryComparesFields) THEN Done(p, "partial") /\ UNCHANGED el
       ELSE IF CarryNeedsNoEntity /\ RootMoves /\ IsBare(m.el) /\ o # k /\ root[k] > 0 THEN Done(p, "left") /\ UNCHANGED el
       ELSE IF CarryNeedsRoom /\ o # k /\ el[o] # None THEN Done(p, "partial") /\ UNCHANGED el
       ELSE /\ el' = [q \in Keys |-> IF q = o THEN [m.el EXCEPT !.inc = m.to] ELSE IF q = k THEN None ELSE el[q]]
            /\ IF o # k /\ Seen(el[k], root[k]) THEN Done(p, "took") ELSE Go(p, [m EXCEPT !.pc = IF m.again THEN "find" ELSE "query", !.el = None])
    /\ UNCHANGED <<root, acked, died, left, fresh, upd>>

\* A program that stops after the move. Who repeats the move finds the entity where it is now, has nothing to move, and looks under
\* all keys that it can have had.
Crash(p) ==
    /\ p \in Ms /\ me[p].pc \in {"query", "carry"} /\ left > 0
    /\ left' = left - 1
    /\ Go(p, [me[p] EXCEPT !.pc = "again", !.again = TRUE, !.el = None])
    /\ UNCHANGED <<root, el, acked, died, fresh, upd>>

Again(p) ==
    /\ me[p].pc = "again"
    /\ LET live == {k \in Keys : root[k] > 0 /\ Before(me[p].inc, root[k])} IN
       IF live = {} THEN Done(p, "missing")
       ELSE \E o \in live : Go(p, [me[p] EXCEPT !.pc = "find", !.o = o, !.to = root[o]])
    /\ UNCHANGED <<root, el, acked, died, left, fresh, upd>>

Find(p) ==
    /\ me[p].pc = "find"
    /\ LET m == me[p] lost == {k \in Keys : Lost(el[k], k, m.to) /\ ~(IsBare(el[k]) /\ RootMoves /\ root[k] > 0)} IN
       IF lost = {} THEN Done(p, "ok")
       ELSE \E k \in lost : Go(p, [m EXCEPT !.pc = "carry", !.el = el[k], !.k = k])
    /\ UNCHANGED <<root, el, acked, died, left, fresh, upd>>

-----------------------------------------------------------------------------

\* A delete takes the root and the elements of its incarnation, and looks again (A2).
Delete(p) == \E k \in Keys :
    /\ me[p].pc = "start" /\ root[k] > 0
    /\ root' = [root EXCEPT ![k] = 0]
    /\ el' = IF Seen(el[k], root[k]) THEN [el EXCEPT ![k] = None] ELSE el
    /\ died' = died \union {root[k]}
    /\ Go(p, [me[p] EXCEPT !.pc = "done", !.res = "ok"])
    /\ UNCHANGED <<acked, left, fresh, upd>>

Insert(p) == \E k \in Keys :
    /\ me[p].pc = "start" /\ root[k] = 0 /\ (RootMoves \/ \A q \in Keys : root[q] = 0)
    /\ root' = [root EXCEPT ![k] = fresh] /\ fresh' = fresh + 2
    /\ Go(p, [me[p] EXCEPT !.pc = "done", !.res = "ok"])
    /\ UNCHANGED <<el, acked, died, left, upd>>

Next == \E p \in All :
    \/ p \in As /\ (AddLoad(p) \/ AddPut(p) \/ AddRoot(p) \/ AddBack(p) \/ AddUpdate(p))
    \/ p \in Ms /\ (MoveLoad(p) \/ MoveTx(p) \/ Query(p) \/ CarryTx(p) \/ Crash(p) \/ Again(p) \/ Find(p))
    \/ p \in Ds /\ Delete(p)
    \/ p \in Is /\ Insert(p)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

Ended == \A p \in All : me[p].pc \in {"done", "start"}
Visible(p) == \E k \in Keys : el[k].by = p /\ Seen(el[k], root[k]) /\ (p \in upd => el[k].ver = 1)
\* The entity to which it was added was deleted, before or after it moved.
\* One without an incarnation is deleted with the next entity of its key too.
Deleted(p) == \E i \in died : Before(me[p].inc, i) \/ Before(i, me[p].inc) \/ (Bare /\ me[p].inc = First)
Reported == \E q \in Ms : me[q].res \in {"partial", "missing", "left"}

\* What was acknowledged is visible when all have ended, or was deleted, or a move says so.
Acknowledged == Ended => \A p \in acked : Visible(p) \/ Deleted(p) \/ Reported
\* Without a third actor a move carries what was added, and reports nothing.
Carried == (Ended /\ Deleters + Inserters = 0 /\ Movers = 1) => \A p \in acked : Visible(p)
\* No element is visible in an entity to which nobody has added it, unless it was added without an incarnation.
NothingForeign == \A k \in Keys :
    (el[k].by > 0 /\ Seen(el[k], root[k]) /\ ~(Bare /\ me[el[k].by].inc = First)) => Before(me[el[k].by].inc, root[k])
\* No carry takes an element out of an entity that shows it.
NothingTaken == \A q \in Ms : me[q].res # "took"
\* Only one place has an element, and an acknowledged one is overwritten by none.
NothingTwice == \A p \in As : Cardinality({k \in Keys : el[k].by = p}) <= 1
=============================================================================
