------------------------------- MODULE Staging -------------------------------
(***************************************************************************)
(* Staged inserts and deletes of one entity: a root and two parts, written *)
(* one conditional request at a time by several actors, over a network     *)
(* that loses answers and delivers requests late.  README.md says what     *)
(* each action is in the code, what is left out, and how to run this.      *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
    NActors,    \* how many actors run at the same time: 2 or 3
    Kinds,      \* what they may be: a subset of the elements of AllKinds
    Orders,     \* where the root lies among the items: a subset of {"first", "last"}
    Starts,     \* what is stored before: a subset of AllStarts
    MaxLost,    \* how many requests are applied without an answer
    MaxLate,    \* how many get no answer, and are applied any time later, or never
    MaxCrash,   \* how many actors stop somewhere
    Final,      \* whether a delete by key and an insert follow when all have stopped

    \* The clauses of the protocol. Each is TRUE; README.md says what goes wrong without it.
    ResentClaimOwnVersion,  \* a claim that is sent again has a version of its own
    RootAfterLastPage,      \* a reader reads the root after the last item
    ItemBeforeRoot,         \* an item is judged by a root that was read after it
    NoTakingBack,           \* a mark of a delete is never taken back
    CompareRootSeenBefore,  \* a reader compares the last root with the first
    AddJoinsLiveRoot,       \* a blind add takes the incarnation of a live root only
    RootAfterPut,           \* a writer that adds a part reads the root after its put
    SweepsOwn,              \* if the root is not live, or of another incarnation, it deletes that part
    PutJoinsReadRoot,       \* a patch or an add reads the root before its put (or remembers it), and the part carries its incarnation
    PatchNeedsItem,         \* a patch updates an item that exists; it puts one only after it has read the root
    UpsertReadsRoot,        \* a patch that may make the root reads it first, and makes root and parts with one incarnation
    RememberedIsChecked,    \* an add with a remembered incarnation that is not the live one is tried again with the one that it reads
    DeleteLooks,            \* a delete in one transaction deletes what was added until then
    LookGoesByFirst,        \* a delete by key that is over looks for the items of the entity that it read first, and of none that exists
    LeftoversNeedRoot,      \* an item without a root of its incarnation is left over only if the root, read after it, is the same
    CheckUpdates,           \* FALSE in the code, unless it is asked for: a writer that updates a part reads the root as well
    CompareValues,          \* a save or delete of a loaded item requires the values that it has read
    TrackCalls              \* no clause: whether hist is kept, which only the invariants of additions need

AllKinds == <<"staged",  \* inserts by a claim, parts and a root that goes live
              "plain",   \* inserts by one transaction
              "delkey",  \* deletes by key
              "delete",  \* deletes what it has loaded
              "saver",   \* saves one item of what it has loaded
              "adder",   \* adds a part and has read nothing
              "patcher", \* changes one item and has read nothing
              "reader",  \* reads all
              "prefix", \* reads the parts without the root
              "txdelete", \* deletes what it has loaded in one transaction
              "txdelkey", \* deletes by key in one transaction, which has no token; refused, it reads again
              "mover",    \* moves what it has loaded to another key in one transaction; or a rollback
              "upserter", \* patches part 3, an item that it makes if it is missing
              "addnew",   \* adds part 3
              "founder",  \* patches part 3 and the root, which it makes if it is missing
              "foreign">> \* a program without this library: changes a value, and leaves the version

AllStarts == {"empty",    \* nothing
              "whole",    \* a live entity, inserted long ago
              "short",    \* the same with its first part alone
              "foreign",  \* a live entity that another program wrote, without incarnations
              "shadow",   \* the same, and a dead item where the second part would be
              "claimed",  \* a crashed insert: the claim and one part
              "halfgone", \* a crashed delete: the mark and one part
              "leftover"} \* two parts of an entity that was deleted

VARIABLES
    db,     \* what is stored: an item for each key
    late,   \* requests that are on their way though nobody waits for them
    left,   \* how many faults may still happen
    me,     \* what each actor knows and does
    run,    \* what this run is about: the cast, the order, the start
    \* What follows is for the invariants alone; no actor looks at it.
    acked,  \* entities whose insert was acknowledged
    gone,   \* entities that an acknowledged delete has deleted
    safe,   \* acknowledged entities that nobody has begun to delete since
    hist,   \* of each actor's call: the entities that were live during it, and whether its write could be seen in one
    over    \* whether a save or delete of a loaded item was applied to a value that it had not read

vars == <<db, late, left, me, run, acked, gone, safe, hist, over>>

-----------------------------------------------------------------------------
(* Items.  An incarnation is the number of the actor that inserts it; the  *)
(* entity of the start is 9, what was there before and crashed is 8.  A    *)
(* version is actor, key, and a number.  `of` and `by` say for which       *)
(* entity, and by whom, the values were written: they are the values, so   *)
(* that invariants can look at them, and no actor does.                    *)

R == 1
Parts == {2, 3}
Keys == {1, 2, 3}

Absent == [a |-> 0, ver |-> 0, st |-> "none", d |-> 0, of |-> 0, by |-> 0]

Token(p, k, t) == p * 100 + k * 10 + t
OwnToken(p, k, i) == i.ver > 0 /\ i.ver \div 10 = p * 10 + k

\* The stage `st` of a root is live, inserting or deleting (d: the D of the delete);
\* that of another item is staged (it has the mark) or part.
Item(a, ver, st, by) == [a |-> a, ver |-> ver, st |-> st, d |-> 0, of |-> a, by |-> by]
Old(x, k, st) == Item(x, Token(x, k, 0), st, x)

\* What was added to entity x after its insert, or for nobody in particular (0).
Added(x) == IF x = 0 THEN 0 ELSE 20 + x
Whose(i) == i.of % 20

\* A root that was live before any load began, by the time that it went live.
LongLive(r) == r.st = "live" /\ r.a = 9
SameRoot(x, y) == x.a = y.a /\ x.st = y.st /\ x.d = y.d
Belongs(i, root) == i.st # "none" /\ i.a \in {0, root.a}

Stored(s) ==
    CASE s = "empty" -> [k \in Keys |-> Absent]
      [] s = "whole" -> [k \in Keys |-> Old(9, k, IF k = R THEN "live" ELSE "part")]
      [] s = "foreign" -> [k \in Keys |-> [Old(9, k, IF k = R THEN "live" ELSE "part") EXCEPT !.a = 0]]
      [] s = "short" -> [k \in Keys |-> IF k = 3 THEN Absent ELSE Old(9, k, IF k = R THEN "live" ELSE "part")]
      [] s = "shadow" -> [k \in Keys |-> IF k = 3 THEN Old(8, k, "staged") ELSE Old(9, k, IF k = R THEN "live" ELSE "part")]
      [] s = "claimed" -> [k \in Keys |-> IF k = 3 THEN Absent ELSE Old(8, k, IF k = R THEN "inserting" ELSE "staged")]
      [] s = "halfgone" -> [k \in Keys |-> CASE k = R -> [Old(8, k, "deleting") EXCEPT !.d = 8]
                                             [] k = 2 -> Absent
                                             [] k = 3 -> Old(8, k, "part")]
      [] s = "leftover" -> [k \in Keys |-> IF k = R THEN Absent ELSE Old(8, k, IF k = 2 THEN "staged" ELSE "part")]

-----------------------------------------------------------------------------
(* Requests.  A request is a function from keys to a condition and what is *)
(* written; several keys are a transaction.                                *)

Whatever == 99
Write(cond, v, new) == [c |-> cond, v |-> v, new |-> new, was |-> Whatever]
\* Only if absent (v = 0), or on condition of a version.
Put(v, new) == Write(IF v = 0 THEN "absent" ELSE "version", v, new)
Delete(v) == Write("version", v, Absent)
\* The same of an item that was read, whose value was `was`.
Loaded(w, was) == [w EXCEPT !.was = was]

Meets(i, w) ==
    CASE w.c = "absent" -> i.st = "none"
      [] w.c = "version" -> i.ver = w.v /\ (CompareValues => w.was \in {Whatever, i.by})
      [] w.c = "mark" -> i.st = "deleting" /\ i.d = w.v
      [] w.c = "exists" -> i.st # "none"
      [] w.c = "live" -> i.st = "live"
      [] w.c = "any" -> TRUE
      [] w.c = "unmarked" -> i.st = "part"
      [] w.c = "of" -> i.st # "none" /\ i.a = w.v
      [] w.c \in {"incarnation", "is"} -> i.st = "live" /\ i.a = w.v
      [] w.c = "joins" -> i.st = "none" \/ i.a \in {0, w.v}
      [] w.c = "free" -> i.st \in {"none", "live", "part"}

Accepted(req) == \A k \in DOMAIN req : Meets(db[k], req[k])
Overwrites(req) == Accepted(req) /\ \E k \in DOMAIN req : req[k].was \notin {Whatever, db[k].by}
After(req) == [k \in Keys |-> IF k \in DOMAIN req /\ req[k].c # "incarnation" THEN req[k].new ELSE db[k]]

\* One attempt of actor p to send req. What p is afterwards: ok, refused (it sees what is
\* stored), lost (applied, but it knows nothing), or astray (not applied, it knows nothing).
Attempt(p, req, ok, refused, lost, astray) ==
    \/ /\ db' = IF Accepted(req) THEN After(req) ELSE db
       /\ me' = [me EXCEPT ![p] = IF Accepted(req) THEN ok ELSE refused]
       /\ over' = (over \/ Overwrites(req))
       /\ UNCHANGED <<late, left>>
    \/ /\ left.lost > 0 /\ Accepted(req)
       /\ db' = After(req)
       /\ me' = [me EXCEPT ![p] = lost]
       /\ left' = [left EXCEPT !.lost = @ - 1]
       /\ over' = (over \/ Overwrites(req))
       /\ UNCHANGED late
    \/ /\ left.late > 0 /\ \A k \in DOMAIN req : req[k].c \notin {"exists", "live", "any", "unmarked", "of", "is", "joins", "free"}
       /\ late' = late \union {[p |-> p, req |-> req]}
       /\ me' = [me EXCEPT ![p] = astray]
       /\ left' = [left EXCEPT !.late = @ - 1]
       /\ UNCHANGED <<db, over>>

Send(p, req, ok, refused, lost) == Attempt(p, req, ok, refused, lost, lost)

\* A step of p that sends no write.
Go(p, next) == me' = [me EXCEPT ![p] = next] /\ UNCHANGED <<db, late, left, over>>

-----------------------------------------------------------------------------
(* Actors.                                                                 *)

Todo == [s |-> "send", v |-> 0, t |-> 0]
Nothing == [k \in Keys |-> Absent]

\* What an actor of a kind remembers, at first.
\*   n: makes versions new; v: the version that the next write requires, 0: absent;
\*   doubt: an attempt got no answer; todo: per part, what to do next, on which version;
\*   owe: what an acknowledged delete promises is gone (only the invariants ask).
Fresh(kind) ==
    CASE kind = "staged" ->
            [pc |-> "start", res |-> "none", n |-> 0, v |-> 0, todo |-> [k \in Parts |-> Todo],
             mine |-> {},      \* versions of claims that were sent without an answer
             acc |-> 0,        \* the version of the claim that stands
             doubt |-> FALSE]  \* whether going live got no answer
      [] kind = "plain" ->
            [pc |-> "start", res |-> "none", n |-> 0, v |-> 0, todo |-> [k \in Parts |-> 0], doubt |-> FALSE,
             sent |-> FALSE]   \* whether the transaction was applied
      [] kind \in {"delkey", "delete"} ->
            [pc |-> "start", res |-> "none", n |-> 0, todo |-> [k \in Parts |-> Todo], doubt |-> FALSE, owe |-> {},
             it |-> Absent,    \* the root as it was seen
             pos |-> 1]        \* where in the items it reads
      [] kind \in {"txdelete", "mover"} ->
            [pc |-> "start", res |-> "none", n |-> 0, doubt |-> FALSE, owe |-> {}, it |-> Absent, sent |-> FALSE,
             todo |-> [k \in Parts |-> 0], bys |-> [k \in Parts |-> 0], pos |-> 2, took |-> {}]
      [] kind = "txdelkey" ->
            [pc |-> "start", res |-> "none", n |-> 0, doubt |-> FALSE, owe |-> {}, it |-> Absent, todo |-> [k \in Keys |-> 0],
             pos |-> 1, rd |-> Nothing,
             looks |-> FALSE,   \* whether it reads after the delete
             begun |-> FALSE,   \* whether an attempt may have deleted what was read
             first |-> Absent,  \* the root that was read before that
             own |-> 0]         \* the incarnation of the items that it looks for in the end
      [] kind \in {"upserter", "addnew"} ->
            [pc |-> "start", res |-> "none", n |-> 0, v |-> 0, doubt |-> FALSE, k |-> 3, a |-> 0, of |-> 0, owe |-> {},
             add |-> kind = "addnew",
             way |-> 0,        \* the incarnation of the item that it has met
             mem |-> FALSE]    \* whether it remembers the incarnation, and has not read it
      [] kind = "founder" ->
            [pc |-> "start", res |-> "none", n |-> 0, v |-> 0, doubt |-> FALSE, sent |-> FALSE, k |-> 3, a |-> 0, of |-> 0, owe |-> {},
             add |-> FALSE, way |-> 0,
             new |-> FALSE]    \* whether it makes the root
      [] kind = "foreign" -> [pc |-> "start", res |-> "none"]
      [] kind = "saver" ->
            [pc |-> "start", res |-> "none", n |-> 0, v |-> 0, doubt |-> FALSE, owe |-> {},
             k |-> 0,          \* which item it writes
             new |-> Absent,   \* what it writes
             add |-> FALSE,    \* whether that is a new part
             was |-> 0,        \* the value that it has loaded
             a |-> 0]          \* the incarnation that it has loaded
      [] kind \in {"adder", "patcher"} ->
            [pc |-> "start", res |-> "none", n |-> 0, v |-> 0, doubt |-> FALSE, k |-> 0,
             a |-> 0, of |-> 0,  \* of the root, if it has read one
             way |-> 0]          \* the incarnation of the item in the way
      [] kind \in {"reader", "prefix"} ->
            [pc |-> "start", res |-> "none", pos |-> 1, rd |-> Nothing, owe |-> {},
             bef |-> Absent]   \* the root that was seen before the items

\* The end of an actor: what it told its caller.
Done(res) == [pc |-> "done", res |-> res]
DoneWith(m, res) == [pc |-> "done", res |-> res, k |-> m.k, owe |-> IF "owe" \in DOMAIN m THEN m.owe ELSE {},
                    add |-> IF "add" \in DOMAIN m THEN m.add ELSE FALSE]
DoneFounder(m, res) == [pc |-> "done", res |-> res, k |-> 3, owe |-> {}, add |-> m.add, new |-> m.new, sent |-> m.sent]
\* Refused: for certain, or after an attempt of which nobody knows what became of it.
DoneTx(m, res) == [pc |-> "done", res |-> res, owe |-> m.owe, took |-> m.took, sent |-> m.sent]
Fail(m) == IF m.doubt THEN "unknown" ELSE "refused"

Kind(p) == CASE p = 6 -> "delkey" [] p = 7 -> "staged" [] OTHER -> run.cast[p]
Inserts(p) == Kind(p) \in {"staged", "plain"}
Deletes(p) == Kind(p) \in {"delkey", "delete", "txdelete", "txdelkey", "mover"}

\* The parts that were inserted with entity x: of an upsert none, which others may patch at once.
PartsOf(x) == IF x \in DOMAIN me /\ Kind(x) = "founder" THEN {} ELSE IF x = 9 /\ run.start \in {"short", "shadow"} THEN {2} ELSE Parts

-----------------------------------------------------------------------------
(* A staged insert. *)

ClaimRoot(p) ==
    LET m == me[p]
        ver == Token(p, R, IF ResentClaimOwnVersion THEN m.n ELSE 0)
        i == db[R]
    IN /\ m.pc = "start"
       /\ Send(p, R :> Put(m.v, Item(p, ver, "inserting", p)),
               [m EXCEPT !.pc = "parts", !.acc = ver],
               IF i.ver \in m.mine THEN [m EXCEPT !.pc = "parts", !.acc = i.ver]
               ELSE IF i.st = "live" THEN Done("refused")
               ELSE [m EXCEPT !.v = i.ver, !.n = @ + 1],
               [m EXCEPT !.mine = @ \union {ver}, !.n = @ + 1])

Undo(m) == [m EXCEPT !.pc = "undo", !.n = 1]

PutPart(p) == \E k \in Parts :
    LET m == me[p]
        todo == m.todo[k]
        i == db[k]
        done == [m EXCEPT !.todo[k].s = "done"]
    IN /\ m.pc = "parts" /\ todo.s = "send"
       /\ Send(p, k :> Put(todo.v, Item(p, Token(p, k, todo.t), "staged", p)),
               done,
               IF i.st = "none" THEN [m EXCEPT !.todo[k].v = 0, !.todo[k].t = @ + 1]
               ELSE IF i.a = p THEN done
               ELSE IF i.a = 0 THEN Undo(m)
               ELSE IF ItemBeforeRoot THEN [m EXCEPT !.todo[k].s = "judge", !.todo[k].v = i.ver]
               ELSE [m EXCEPT !.todo[k].v = i.ver, !.todo[k].t = @ + 1],
               m)

\* The root, read after the item in the way: if the claim stands, that item is dead.
JudgePart(p) == \E k \in Parts :
    LET m == me[p] IN
    /\ m.pc = "parts" /\ m.todo[k].s = "judge"
    /\ Go(p, IF db[R].a = p /\ db[R].st = "inserting"
             THEN [m EXCEPT !.todo[k].s = "send", !.todo[k].t = @ + 1]
             ELSE Undo(m))

GoLive(p) ==
    LET m == me[p] IN
    /\ m.pc = "parts" /\ \A k \in Parts : m.todo[k].s = "done"
    /\ Send(p, R :> Put(m.acc, Item(p, Token(p, R, 9), "live", p)),
            Done("ok"),
            IF db[R].a = p /\ db[R].st = "live" THEN Done("ok")
            ELSE IF m.doubt THEN Done("unknown")
            ELSE Undo(m),
            [m EXCEPT !.doubt = TRUE])

\* It was overtaken or something is in the way: what it put is deleted, each item on
\* condition of the version that it wrote; nobody waits for answers.
UndoOne(p) ==
    LET m == me[p]
        k == <<2, 3, R>>[m.n]
        next == IF k = R THEN Done("refused") ELSE [m EXCEPT !.n = @ + 1]
    IN /\ m.pc = "undo"
       /\ Send(p, k :> Delete(IF k = R THEN m.acc ELSE Token(p, k, m.todo[k].t)), next, next, next)

Staged(p) == ClaimRoot(p) \/ PutPart(p) \/ JudgePart(p) \/ GoLive(p) \/ UndoOne(p)

-----------------------------------------------------------------------------
(* A plain insert: one transaction, with a token by which it is applied    *)
(* once.                                                                   *)

InsertAll(p) ==
    LET m == me[p]
        req == [k \in Keys |-> IF k = R THEN Put(m.v, Item(p, Token(p, R, m.n), "live", p))
                               ELSE Put(m.todo[k], Item(p, Token(p, k, m.n), "part", p))]
    IN /\ m.pc = "start"
       /\ IF m.sent THEN Go(p, Done("ok"))
          ELSE Attempt(p, req,
               Done("ok"),
               IF m.doubt \/ db[R].st = "live" \/ \E k \in Parts : db[k].st # "none" /\ db[k].a = 0
               THEN Done(Fail(m))
               ELSE [m EXCEPT !.pc = "judge", !.todo = [k \in Parts |-> db[k].ver]],
               [m EXCEPT !.doubt = TRUE, !.sent = TRUE],
               [m EXCEPT !.doubt = TRUE])

JudgeAll(p) ==
    LET m == me[p] IN
    /\ m.pc = "judge"
    /\ Go(p, IF db[R].st = "live" THEN Done(Fail(m))
             ELSE [m EXCEPT !.pc = "start", !.v = db[R].ver, !.n = @ + 1])

Plain(p) == InsertAll(p) \/ JudgeAll(p)

-----------------------------------------------------------------------------
(* A staged delete. *)

LookAtRoot(p) ==
    /\ Kind(p) = "delkey" /\ me[p].pc = "start"
    /\ Go(p, [me[p] EXCEPT !.pc = "mark", !.it = db[R], !.owe = acked])

\* A load is one step here; that it is as good as one is shown by the readers.
Load(p) ==
    LET m == me[p] IN
    /\ Kind(p) = "delete" /\ m.pc = "start"
    /\ Go(p, IF db[R].st # "live" THEN Done("refused")
             ELSE [m EXCEPT !.pc = "compare", !.it = db[R], !.owe = {db[R].of},
                            !.todo = [k \in Parts |-> IF Belongs(db[k], db[R]) THEN db[k].ver ELSE 0]])

Compare(p) ==
    LET m == me[p]
        k == m.pos
        loaded == IF k = R THEN m.it.ver ELSE m.todo[k]
    IN /\ m.pc = "compare"
       /\ Go(p, IF loaded # (IF Belongs(db[k], m.it) THEN db[k].ver ELSE 0) THEN Done("refused")
                ELSE IF k = 3 THEN [m EXCEPT !.pc = "mark", !.pos = 1, !.todo = [q \in Parts |-> Todo]]
                ELSE [m EXCEPT !.pos = @ + 1])

Mark(p) ==
    LET m == me[p]
        i == db[R]
        new == [m.it EXCEPT !.ver = Token(p, R, m.n), !.st = "deleting", !.d = p]
        marked == [m EXCEPT !.pc = "list", !.pos = 2]
    IN /\ m.pc = "mark"
       /\ Send(p, R :> Loaded(Put(m.it.ver, new), m.it.by),
               marked,
               IF i.d = p THEN marked
               ELSE IF Kind(p) = "delete" THEN Done(Fail(m))
               ELSE [m EXCEPT !.it = i, !.n = @ + 1],
               [m EXCEPT !.doubt = TRUE])

ListPart(p) ==
    LET m == me[p]
        read == [m EXCEPT !.todo[m.pos] = [s |-> IF db[m.pos].st = "none" THEN "done" ELSE "send", v |-> db[m.pos].ver, t |-> 0]]
    IN /\ m.pc = "list"
       /\ Go(p, IF m.pos = 3 THEN [read EXCEPT !.pc = "check", !.pos = 1] ELSE [read EXCEPT !.pos = 3])

Stands(p) == db[R].st = "deleting" /\ db[R].d = p

\* The root, read after the items.
CheckMark(p) ==
    LET m == me[p] IN
    /\ m.pc = "check"
    /\ Go(p, IF Stands(p) THEN [m EXCEPT !.pc = "delete"] ELSE Done("ok"))

DeletePart(p) == \E k \in Parts :
    LET m == me[p]
        done == [m EXCEPT !.todo[k].s = "done"]
    IN /\ m.pc = "delete" /\ m.todo[k].s = "send"
       /\ Send(p, k :> Delete(m.todo[k].v),
               done,
               IF db[k].st = "none" THEN done
               ELSE [m EXCEPT !.todo[k].s = "judge", !.todo[k].v = db[k].ver],
               m)

CheckPart(p) == \E k \in Parts :
    LET m == me[p] IN
    /\ m.pc = "delete" /\ m.todo[k].s = "judge"
    /\ Go(p, IF Stands(p) THEN [m EXCEPT !.todo[k].s = "send"] ELSE Done("ok"))

DeleteRoot(p) ==
    LET m == me[p] IN
    /\ m.pc = "delete" /\ \A k \in Parts : m.todo[k].s = "done"
    /\ Send(p, R :> Write("mark", p, Absent), Done("ok"), Done("ok"), m)

\* Only where NoTakingBack is left out: an error before anything was deleted.
TakeBack(p) ==
    LET m == me[p] IN
    /\ ~NoTakingBack /\ m.pc \in {"list", "check"} /\ m.it.st \in {"live", "deleting"}
    /\ Send(p, R :> Write("mark", p, [m.it EXCEPT !.ver = Token(p, R, 9), !.st = "live", !.d = 0]),
            Done("refused"), Done("ok"), Done("unknown"))

Deleter(p) == \/ LookAtRoot(p) \/ Load(p) \/ Compare(p) \/ Mark(p) \/ ListPart(p) \/ CheckMark(p)
              \/ DeletePart(p) \/ CheckPart(p) \/ DeleteRoot(p) \/ TakeBack(p)

-----------------------------------------------------------------------------
(* A save of one item of a loaded entity: an update on its version, or a   *)
(* put of a part that the entity has not.                                  *)

LoadToSave(p) == \E k \in Keys :
    LET m == me[p]
        found == Belongs(db[k], db[R])
    IN /\ m.pc = "start"
       /\ Go(p, IF db[R].st # "live" THEN DoneWith(m, "refused")
                ELSE [m EXCEPT !.k = k, !.a = db[R].a, !.owe = {db[R].of},
                               !.pc = "call", !.add = ~found,
                               !.v = IF found THEN db[k].ver ELSE 0, !.was = db[k].by,
                               !.new = IF found
                                       THEN [db[k] EXCEPT !.ver = Token(p, k, 0), !.by = p,
                                                          !.st = IF k = R THEN "live" ELSE "part"]
                                       ELSE [Item(db[R].a, Token(p, k, 0), "part", p) EXCEPT !.of = Added(db[R].of)]])

Alive(p) == db[R].st = "live" /\ db[R].a = me[p].a
Call(p) == me[p].pc = "call" /\ Go(p, [me[p] EXCEPT !.pc = IF me[p].add THEN "put" ELSE "update"])
Wrote(m) == IF (m.add /\ RootAfterPut) \/ (~m.add /\ m.k # R /\ CheckUpdates)
            THEN [m EXCEPT !.pc = "verify", !.doubt = FALSE] ELSE DoneWith(m, "ok")
Update(p) ==
    LET m == me[p] IN
    /\ m.pc = "update"
    /\ Send(p, m.k :> Loaded(Put(m.v, m.new), m.was),
            Wrote(m),
            IF OwnToken(p, m.k, db[m.k]) THEN Wrote(m) ELSE DoneWith(m, Fail(m)),
            [m EXCEPT !.doubt = TRUE])

PutNew(p) ==
    LET m == me[p]
        i == db[m.k]
    IN /\ m.pc = "put"
       /\ Send(p, m.k :> Put(m.v, [m.new EXCEPT !.ver = @ + m.n]),
               Wrote(m),
               IF OwnToken(p, m.k, i) THEN Wrote(m)
               ELSE IF i.st = "none" THEN [m EXCEPT !.v = 0, !.n = @ + 1]
               ELSE IF i.a \in {0, m.a} THEN DoneWith(m, Fail(m))
               ELSE IF ItemBeforeRoot THEN [m EXCEPT !.v = i.ver, !.pc = "judge"]
               ELSE [m EXCEPT !.v = i.ver, !.n = @ + 1],
               [m EXCEPT !.doubt = TRUE])

\* The root, read after the item in the way: if what was loaded is live, that item is dead.
JudgeNew(p) ==
    LET m == me[p] IN
    /\ m.pc = "judge"
    /\ Go(p, IF db[R].a = m.a /\ db[R].st = "live" THEN [m EXCEPT !.pc = "put", !.n = @ + 1]
             ELSE DoneWith(m, Fail(m)))

\* The root, read after the put. If the entity is not live any more, what was put is deleted.
Verify(p) ==
    LET m == me[p] IN
    /\ m.pc = "verify"
    /\ Go(p, IF Alive(p) THEN DoneWith(m, "ok")
             ELSE IF SweepsOwn /\ m.add THEN [m EXCEPT !.pc = "sweep"] ELSE DoneWith(m, "refused"))

\* The delete of one's own put: by its incarnation, which is dead, or by its version. Whatever the answer, the entity was not found.
DeleteOwn(p, k, next) ==
    Send(p, k :> IF me[p].a # 0 THEN Write("of", me[p].a, Absent) ELSE Delete(IF OwnToken(p, k, db[k]) THEN db[k].ver ELSE 0), next, next, next)

SweepNew(p) == me[p].pc = "sweep" /\ DeleteOwn(p, me[p].k, DoneWith(me[p], "refused"))

Saver(p) == LoadToSave(p) \/ Call(p) \/ Update(p) \/ PutNew(p) \/ JudgeNew(p) \/ Verify(p) \/ SweepNew(p)

\* A delete of what was loaded in one transaction; then it looks for what was added meanwhile.  A move is that, and
\* what it took lives on under another key; so is a rollback to another layout.
TxDelete(p) ==
    LET m == me[p]
        req == [k \in ({R} \union {q \in Parts : m.todo[q] # 0}) |->
                   Loaded(Delete(IF k = R THEN m.it.ver ELSE m.todo[k]), IF k = R THEN m.it.by ELSE m.bys[k])]
        next == IF DeleteLooks \/ Kind(p) = "mover" THEN [m EXCEPT !.pc = "look"] ELSE DoneTx(m, "ok")
    IN \/ m.pc = "start" /\ Go(p, IF db[R].st # "live" THEN DoneTx(m, "refused")
             ELSE [m EXCEPT !.pc = "send", !.it = db[R], !.owe = {db[R].of},
                            !.todo = [k \in Parts |-> IF Belongs(db[k], db[R]) THEN db[k].ver ELSE 0],
                            !.bys = [k \in Parts |-> db[k].by],
                            !.took = {db[k].by : k \in {q \in Parts : Belongs(db[q], db[R])}}])
       \/ m.pc = "send" /\ IF m.sent THEN Go(p, next)
             ELSE Attempt(p, req, next, DoneTx(m, Fail(m)), [m EXCEPT !.doubt = TRUE, !.sent = TRUE], [m EXCEPT !.doubt = TRUE])
       \* a strong query; each item of the dead incarnation is deleted by its version
       \/ m.pc = "look" /\ LET mine == {k \in Parts : db[k].st # "none" /\ db[k].a = m.it.a /\ db[R].a # m.it.a} IN
             IF mine = {} THEN Go(p, DoneTx(m, "ok"))
             ELSE IF Kind(p) = "mover" THEN Go(p, DoneTx([m EXCEPT !.took = @ \union {db[k].by : k \in mine}], "ok")) \* reported
             ELSE \E k \in mine : Send(p, k :> Delete(db[k].ver), [m EXCEPT !.took = IF Kind(p) = "mover" THEN @ \union {db[k].by} ELSE @], m, m)

\* A delete by key of all that it reads, in one transaction: of an entity, of what is unfinished, or of leftovers. It reads item by item, since a page
\* is no snapshot. Once an attempt may have been applied, another root is that of the next entity, and stays.
TxDelKey(p) ==
    LET m == me[p]
        order == IF run.order = "first" THEN <<R, 2, 3>> ELSE <<2, 3, R>>
        k == order[m.pos]
        owe == IF m.pc = "start" THEN acked ELSE m.owe
        done(res) == [pc |-> "done", res |-> res, owe |-> owe]
        reads(looks) == [m EXCEPT !.pc = "read", !.pos = 1, !.rd = Nothing, !.looks = looks]
        lookFor(a) == IF DeleteLooks THEN [reads(TRUE) EXCEPT !.own = a] ELSE done("ok")
        found(rd) == {q \in Parts : rd[q].st # "none"}
        \* what it does with what it has read
        toDelete(rd) ==
            LET r == rd[R]
                none == r.st = "none"
                had == m.first.st # "none"
                all == [m EXCEPT !.pc = "send", !.it = r, !.first = IF m.begun THEN @ ELSE r, !.todo = [q \in Keys |-> rd[q].ver]]
            IN IF none /\ found(rd) # {} THEN all
               ELSE IF m.begun /\ had /\ ~none /\ m.first.a = 0 /\ r.ver # m.first.ver THEN done("unknown")
               ELSE IF m.begun /\ none THEN done("ok")
               ELSE IF m.begun /\ had /\ r.a # m.first.a THEN lookFor(IF LookGoesByFirst THEN m.first.a ELSE r.a)
               ELSE IF none THEN done("refused")
               ELSE all
        toSweep(rd) ==
            LET mine == {q \in found(rd) : rd[q].a = m.own /\ (LookGoesByFirst => IF m.own = 0 THEN rd[R].st = "none" ELSE rd[R].a # m.own)}
            IN [m EXCEPT !.pc = "sweep", !.todo = [q \in Keys |-> IF q \in mine THEN rd[q].ver ELSE 0]]
        next(rd) == IF m.looks THEN toSweep(rd) ELSE toDelete(rd)
        stray(rd) == IF rd[R].st = "none" THEN found(rd) # {} ELSE \E q \in found(rd) : rd[q].a # 0 /\ rd[q].a # rd[R].a
        req == [q \in {q \in Keys : m.todo[q] # 0} |-> Delete(m.todo[q])]
        rest == {q \in Keys : m.todo[q] # 0}
    IN \/ m.pc \in {"start", "read"}
          /\ LET rd == [m.rd EXCEPT ![k] = db[k]] IN
             Go(p, IF m.pos < 3 THEN [m EXCEPT !.pc = "read", !.pos = @ + 1, !.rd = rd, !.owe = owe]
                   ELSE IF LeftoversNeedRoot /\ stray(rd) THEN [m EXCEPT !.pc = "confirm", !.rd = rd]
                   ELSE next(rd))
       \/ m.pc = "confirm"
          /\ Go(p, IF (db[R].st = "none") = (m.rd[R].st = "none") /\ db[R].a = m.rd[R].a THEN next(m.rd) ELSE reads(m.looks))
       \/ m.pc = "send" /\ Send(p, req, IF m.it.st = "none" THEN done("ok") ELSE lookFor(m.it.a),
             IF m.n >= 5 THEN done(Fail(m)) ELSE [reads(FALSE) EXCEPT !.n = @ + 1, !.begun = @ \/ m.doubt, !.doubt = FALSE],
             [m EXCEPT !.doubt = TRUE])
       \* each item of that incarnation is deleted by its version; one that was changed since, by its version of now
       \/ m.pc = "sweep" /\ IF rest = {} THEN Go(p, done("ok"))
             ELSE \E q \in rest : Send(p, q :> Delete(m.todo[q]), [m EXCEPT !.todo[q] = 0],
                    [m EXCEPT !.todo[q] = IF db[q].st # "none" /\ m.own # 0 /\ db[q].a = m.own THEN db[q].ver ELSE 0], m)

-----------------------------------------------------------------------------
(* Writers that have read nothing: an add of a part, and a change.         *)

\* Which item it writes, and what it knows, when it sends.
Blind(p, ks) == IF me[p].pc = "start" THEN {[me[p] EXCEPT !.pc = "blind", !.k = k] : k \in ks}
                ELSE IF me[p].pc = "blind" THEN {me[p]} ELSE {}

Add(p) == \E m \in Blind(p, Parts) :
    LET i == db[m.k]
        new == [Item(m.a, Token(p, m.k, m.n), "part", p) EXCEPT !.of = Added(m.of)]
    IN Send(p, m.k :> Put(m.v, new),
            DoneWith(m, "ok"),
            IF OwnToken(p, m.k, i) THEN DoneWith(m, "ok")
            ELSE IF i.st = "none" THEN [m EXCEPT !.v = 0, !.n = @ + 1]
            ELSE IF i.a = 0 THEN DoneWith(m, Fail(m))
            ELSE [m EXCEPT !.pc = "judge", !.v = i.ver, !.way = i.a],
            [m EXCEPT !.doubt = TRUE])

\* The root, read after the item in the way: none, or that of another entity. The add takes
\* its incarnation if it is live, and else none.
JudgeAdd(p) ==
    LET m == me[p]
        r == db[R]
    IN /\ m.pc = "judge"
       /\ Go(p, IF r.st # "none" /\ r.a = m.way THEN DoneWith(m, Fail(m))
                ELSE IF r.st = "live" \/ ~AddJoinsLiveRoot
                THEN [m EXCEPT !.pc = "blind", !.a = r.a, !.of = r.of, !.way = 0, !.n = @ + 1]
                ELSE [m EXCEPT !.pc = "blind", !.a = 0, !.of = 0, !.way = 0, !.n = @ + 1])

Adder(p) == Add(p) \/ JudgeAdd(p)

Patcher(p) == \E m \in Blind(p, Keys) :
    LET new == [db[m.k] EXCEPT !.ver = Token(p, m.k, 0), !.by = p]
    IN Send(p, m.k :> Write(IF m.k = R THEN "live" ELSE "exists", 0, new),
            DoneWith(m, "ok"), DoneWith(m, Fail(m)), [m EXCEPT !.doubt = TRUE])

\* A patch of a fixed item, and an add. Neither has read anything.
New(p) == [Item(me[p].a, Token(p, 3, me[p].n), "part", p) EXCEPT !.of = Added(me[p].of)]
AfterPut(m) == IF RootAfterPut THEN [m EXCEPT !.pc = "last", !.add = TRUE] ELSE DoneWith([m EXCEPT !.add = TRUE], "ok")

\* The put, only if nothing is there. What is there is dead if it has another incarnation than the root that is read after it.
PutIt(p) ==
    LET m == me[p]
        i == db[3]
    IN Send(p, 3 :> Put(m.v, New(p)), AfterPut(m),
            IF OwnToken(p, 3, i) /\ i.a = m.a THEN AfterPut(m)
            ELSE IF i.st = "none" THEN [m EXCEPT !.v = 0, !.n = @ + 1]
            ELSE IF i.a \in {0, m.a} THEN IF Kind(p) = "upserter" /\ m.n < 6 THEN [m EXCEPT !.pc = "start", !.n = @ + 1, !.v = 0] ELSE DoneWith(m, Fail(m))
            ELSE IF m.n < 6 THEN [m EXCEPT !.pc = "root", !.v = i.ver, !.n = @ + 1, !.way = i.a] ELSE DoneWith(m, Fail(m)),
            [m EXCEPT !.doubt = TRUE])

ReadRoot(p) ==
    LET m == me[p]
        r == db[R]
    IN Go(p, IF r.st # "live" THEN DoneWith(m, Fail(m))
             ELSE IF Kind(p) = "upserter" /\ m.way # 0 /\ m.way = r.a THEN [m EXCEPT !.pc = "live"]
             ELSE [m EXCEPT !.pc = "put", !.a = r.a, !.of = r.of, !.n = @ + 1, !.mem = FALSE,
                            !.v = IF @ # 0 /\ Kind(p) = "addnew" /\ db[3].st # "none" /\ db[3].a = r.a THEN 0 ELSE @])

\* The root, read after the put, or after an update if CheckUpdates.
LastRoot(p) ==
    LET m == me[p] IN
    Go(p, IF db[R].st = "live" /\ (IF m.add THEN db[R].a = m.a ELSE db[3].st # "none" /\ m.a \in {0, db[R].a}) THEN DoneWith(m, "ok")
          ELSE IF SweepsOwn /\ m.add THEN [m EXCEPT !.pc = "sweep"] ELSE DoneWith(m, Fail(m)))

SweepPut(p) ==
    LET m == me[p] IN
    DeleteOwn(p, 3, IF m.mem /\ RememberedIsChecked THEN [m EXCEPT !.pc = "root", !.v = 0, !.n = @ + 1] ELSE DoneWith(m, Fail(m)))

Upserter(p) ==
    LET m == me[p]
        i == db[3]
        up == [i EXCEPT !.ver = Token(p, 3, m.n), !.by = p]
        make == [Item(0, Token(p, 3, m.n), "part", p) EXCEPT !.of = Added(0)]
        updated == [m EXCEPT !.a = i.a, !.add = FALSE]
    IN \/ /\ m.pc = "start" /\ ~PatchNeedsItem
          /\ Send(p, 3 :> Write("any", 0, IF i.st = "none" THEN make ELSE up),
                  DoneWith([m EXCEPT !.add = i.st = "none"], "ok"), DoneWith(m, Fail(m)), [m EXCEPT !.doubt = TRUE])
       \/ /\ m.pc = "start" /\ PatchNeedsItem
          /\ Send(p, 3 :> Write("unmarked", 0, up),
                  IF CheckUpdates THEN [updated EXCEPT !.pc = "last"] ELSE DoneWith(updated, "ok"),
                  IF m.n < 6 THEN [m EXCEPT !.pc = "root", !.n = @ + 1, !.v = i.ver, !.way = i.a] ELSE DoneWith(m, Fail(m)),
                  [m EXCEPT !.doubt = TRUE])
       \* the item was staged, and is of the live entity
       \/ /\ m.pc = "live"
          /\ Send(p, 3 :> Write("of", m.way, up),
                  IF CheckUpdates THEN [updated EXCEPT !.pc = "last"] ELSE DoneWith(updated, "ok"),
                  [m EXCEPT !.pc = "start", !.n = @ + 1, !.v = 0, !.way = 0], [m EXCEPT !.doubt = TRUE])
       \/ m.pc = "root" /\ ReadRoot(p)
       \/ m.pc = "put" /\ PutIt(p)
       \/ m.pc = "last" /\ LastRoot(p)
       \/ m.pc = "sweep" /\ SweepPut(p)

AddNew(p) ==
    LET m == me[p] IN
       \/ m.pc = "start" /\ Go(p, [m EXCEPT !.pc = IF PutJoinsReadRoot THEN "root" ELSE "put"])
       \* an incarnation that it remembers: that of the entity of the start, or of one before it
       \/ m.pc = "start" /\ PutJoinsReadRoot /\ run.start \in {"whole", "short", "shadow"}
          /\ \E a \in {8, 9} : Go(p, [m EXCEPT !.pc = "put", !.a = a, !.of = a, !.mem = TRUE])
       \/ m.pc = "root" /\ ReadRoot(p)
       \/ m.pc = "put" /\ PutIt(p)
       \/ m.pc = "last" /\ LastRoot(p)
       \/ m.pc = "sweep" /\ SweepPut(p)

\* An upsert of the root together with part 3, in one transaction. It makes both, or changes both in the entity that it has read.
\* An item without an incarnation is any entity's, and of this one from then on.
Together(p) ==
    LET m == me[p]
        r == db[R]
        i == db[3]
        made == Item(p, Token(p, R, m.n), "live", p)
        root == IF m.new THEN R :> Put(0, made) ELSE R :> Write("is", m.a, [r EXCEPT !.ver = Token(p, R, m.n), !.by = p])
        mine == [Item(m.a, Token(p, 3, m.n), "part", p) EXCEPT !.of = Added(m.of)]
        up == [i EXCEPT !.ver = Token(p, 3, m.n), !.by = p, !.of = IF i.a = 0 /\ m.new THEN Added(p) ELSE @]
        puts == m.v # 0 \/ i.st = "none"
        part == IF puts THEN 3 :> Put(m.v, mine) ELSE 3 :> Write("joins", m.a, up)
        again == [m EXCEPT !.pc = "root", !.n = @ + 1, !.way = IF i.st = "none" THEN 0 ELSE i.a, !.v = IF i.st = "none" \/ i.a = 0 THEN 0 ELSE i.ver]
        ok == DoneFounder([m EXCEPT !.add = puts], "ok")
    IN IF m.sent THEN Go(p, ok)
       ELSE Attempt(p, root @@ part, ok,
                    IF m.doubt \/ m.n >= 5 THEN DoneFounder(m, Fail(m)) ELSE again,
                    [m EXCEPT !.doubt = TRUE, !.sent = TRUE, !.add = puts], [m EXCEPT !.doubt = TRUE])

\* The same without reading: what it makes has no incarnation of the entity.
TogetherBlindly(p) ==
    LET m == me[p]
        r == db[R]
        i == db[3]
        new == IF r.st = "none" THEN Item(p, Token(p, R, m.n), "live", p) ELSE [r EXCEPT !.ver = Token(p, R, m.n), !.by = p]
        up == IF i.st = "none" THEN [Item(0, Token(p, 3, m.n), "part", p) EXCEPT !.of = Added(IF r.st = "none" THEN p ELSE r.of)]
              ELSE [i EXCEPT !.ver = Token(p, 3, m.n), !.by = p]
        did == [m EXCEPT !.add = i.st = "none", !.new = r.st = "none"]
    IN Attempt(p, R :> Write("free", 0, new) @@ 3 :> Write("free", 0, up), DoneFounder(did, "ok"), DoneFounder(m, Fail(m)),
               [did EXCEPT !.doubt = TRUE, !.sent = TRUE], [m EXCEPT !.doubt = TRUE])

\* The root, read after the item in the way: of another incarnation, that item is dead, and replaced.
ReadRootOrNone(p) ==
    LET m == me[p]
        r == db[R]
        next == [m EXCEPT !.pc = "send", !.new = r.st = "none", !.a = IF r.st = "none" THEN p ELSE r.a, !.of = IF r.st = "none" THEN p ELSE r.of,
                          !.v = IF r.st # "none" /\ r.a = m.way THEN 0 ELSE @]
    IN Go(p, IF r.st \in {"none", "live"} THEN next ELSE DoneFounder(m, Fail(m)))

Founder(p) ==
    LET m == me[p] IN
       \/ m.pc = "start" /\ UpsertReadsRoot /\ ReadRootOrNone(p)
       \/ m.pc = "start" /\ ~UpsertReadsRoot /\ TogetherBlindly(p)
       \/ m.pc = "root" /\ ReadRootOrNone(p)
       \/ m.pc = "send" /\ Together(p)

\* A program without this library changes the value of an item of a live entity, and leaves its version.
Foreign(p) == \E k \in Keys :
    /\ me[p].pc = "start" /\ db[R].st = "live" /\ Belongs(db[k], db[R])
    /\ db' = [db EXCEPT ![k].by = p]
    /\ me' = [me EXCEPT ![p] = Done("ok")]
    /\ UNCHANGED <<late, left, over>>

-----------------------------------------------------------------------------
(* Readers.  Each item is a step of its own, so that anything may happen   *)
(* between two items, on one page or on two.                               *)

InOrder(p) == IF Kind(p) = "prefix" THEN <<2, 3>>
              ELSE IF run.order = "first" THEN <<R, 2, 3>> ELSE <<2, 3, R>>

\* What a reader tells its caller, seen by one who knows what was inserted and deleted.
Verdict(p, root, rd) ==
    LET x == root.of IN
    IF \E k \in Parts : Belongs(rd[k], root) /\ Whose(rd[k]) \notin {0, x} THEN "joined"
    ELSE IF \E k \in PartsOf(x) : ~Belongs(rd[k], root) \/ rd[k].of # x THEN "torn"
    ELSE IF x \in me[p].owe THEN "risen"
    ELSE "ok"

\* The last root is `root`: is what was read good, or is all to be read again?
Judge(p, m, root) ==
    IF root.st # "live" THEN Done("notfound")
    ELSE IF \/ SameRoot(root, m.bef)
            \/ (run.order = "last" /\ Kind(p) = "reader" /\ LongLive(root))
            \/ ~CompareRootSeenBefore
         THEN Done(Verdict(p, root, m.rd))
         ELSE [m EXCEPT !.pc = "read", !.pos = 1, !.bef = root, !.rd = Nothing]

\* A prefix without the root: nothing tells that it may be more than one entity's.
Unmixed(rd) ==
    LET there == {k \in Parts : rd[k].st # "none"} IN
    /\ \A k \in there : rd[k].st # "staged"
    /\ Cardinality({rd[k].a : k \in there}) <= 1

\* No insert that has not asked to go live, or was refused, is seen.
TooEarly(x) == /\ x \in DOMAIN me /\ Kind(x) = "staged"
               /\ \/ me[x].res = "refused"
                  \/ me[x].pc \in {"start", "parts", "undo"} /\ db[R].a = x /\ db[R].st = "inserting"

PrefixVerdict(rd) ==
    LET ofs == {Whose(rd[k]) : k \in Parts} \ {0} IN
    IF Cardinality(ofs) > 1 THEN "joined"
    ELSE IF \E x \in ofs : TooEarly(x) THEN "torn"
    ELSE "ok"

ReadOne(p) ==
    LET m == me[p]
        k == InOrder(p)[m.pos]
        read == [m EXCEPT !.pc = "read", !.rd[k] = db[k], !.pos = @ + 1,
                          !.owe = IF m.pc = "start" THEN gone ELSE @,
                          !.bef = IF k = R /\ run.order = "first" THEN db[R] ELSE @]
    IN /\ m.pc \in {"start", "read"}
       /\ Go(p, IF m.pos < Len(InOrder(p)) THEN read
                ELSE IF k = R THEN Judge(p, read, db[R])
                ELSE IF Kind(p) = "prefix" /\ m.bef = Absent
                     THEN IF Unmixed(read.rd) THEN Done(PrefixVerdict(read.rd))
                          ELSE [read EXCEPT !.pc = "root"]
                ELSE IF RootAfterLastPage THEN [read EXCEPT !.pc = "last"]
                ELSE Judge(p, read, read.bef))

\* A prefix reader met staged or mixed items. If the root has been live for long, it was so
\* when they were read.
ReadRootFirst(p) ==
    LET m == me[p] IN
    /\ m.pc = "root"
    /\ Go(p, IF db[R].st # "live" THEN Done("notfound")
             ELSE IF LongLive(db[R]) THEN Done(Verdict(p, db[R], m.rd))
             ELSE [m EXCEPT !.pc = "read", !.pos = 1, !.bef = db[R], !.rd = Nothing])

ReadRootLast(p) == me[p].pc = "last" /\ Go(p, Judge(p, me[p], db[R]))

Reader(p) == ReadOne(p) \/ ReadRootFirst(p) \/ ReadRootLast(p)

-----------------------------------------------------------------------------
(* What the invariants remember, after a step of p.                        *)

\* Whether entity x may be deleted by d, which has begun and was not acknowledged yet, or has
\* stopped with a request on its way.
Threatens(d, x) == /\ Deletes(d)
                   /\ \/ me[d].pc \notin {"start", "done"}
                      \/ me[d].res # "ok" /\ \E l \in late : l.p = d
                   /\ IF Kind(d) = "txdelkey" /\ me[d].pc # "done" THEN ~(me[d].begun \/ me[d].doubt) \/ me[d].first.st = "none" \/ x = me[d].first.of
                      ELSE Kind(d) = "delkey" \/ me[d].pc = "done" \/ me[d].pc = "look" \/ x \in me[d].owe

Remember(p) ==
    LET ok == me'[p].res = "ok"
        begins == Deletes(p) /\ me[p].pc = "start"
        inserts == Inserts(p) \/ (Kind(p) = "founder" /\ me'[p].new)
    IN /\ acked' = IF ok /\ inserts THEN acked \union {p} ELSE acked
       /\ gone' = IF ok /\ Deletes(p) THEN gone \union me[p].owe ELSE gone
       /\ safe' = IF begins THEN IF Kind(p) = "delkey" THEN {}
                               ELSE IF me'[p].pc = "done" THEN safe ELSE safe \ me'[p].owe
                  ELSE IF ok /\ inserts /\ (Kind(p) # "staged" => ~me[p].doubt)
                          /\ \A d \in DOMAIN me : ~Threatens(d, p)
                       THEN safe \union {p}
                  ELSE safe

Step(p) ==
    /\ me[p].pc # "done"
    /\ \/ Kind(p) = "staged" /\ Staged(p)
       \/ Kind(p) = "plain" /\ Plain(p)
       \/ Kind(p) \in {"delkey", "delete"} /\ Deleter(p)
       \/ Kind(p) \in {"txdelete", "mover"} /\ TxDelete(p)
       \/ Kind(p) = "txdelkey" /\ TxDelKey(p)
       \/ Kind(p) = "upserter" /\ Upserter(p)
       \/ Kind(p) = "addnew" /\ AddNew(p)
       \/ Kind(p) = "founder" /\ Founder(p)
       \/ Kind(p) = "foreign" /\ Foreign(p)
       \/ Kind(p) = "saver" /\ Saver(p)
       \/ Kind(p) = "adder" /\ Adder(p)
       \/ Kind(p) = "patcher" /\ Patcher(p)
       \/ Kind(p) \in {"reader", "prefix"} /\ Reader(p)
    /\ Remember(p)
    /\ UNCHANGED run

Crash(p) ==
    /\ me[p].pc \notin {"start", "done"} /\ left.crash > 0
    /\ Kind(p) \notin {"reader", "prefix", "foreign"}
    /\ me' = [me EXCEPT ![p] = IF "sent" \in DOMAIN me[p] THEN [pc |-> "done", res |-> "crashed", sent |-> me[p].sent] ELSE Done("crashed")]
    /\ left' = [left EXCEPT !.crash = @ - 1]
    /\ UNCHANGED <<over, db, late, run, acked, gone, safe>>

\* A late request arrives. A transaction that was applied is not applied again.
Arrive == \E l \in late :
    /\ Accepted(l.req)
    /\ ~(Kind(l.p) \in {"plain", "founder", "txdelete", "mover"}
         /\ (me[l.p].res = "ok" \/ ("sent" \in DOMAIN me[l.p] /\ me[l.p].sent) \/ me[l.p].pc = "look"))
    /\ db' = After(l.req)
    /\ late' = late \ {l}
    /\ over' = (over \/ Overwrites(l.req))
    /\ me' = IF Kind(l.p) \in {"plain", "founder", "txdelete", "mover"} /\ "sent" \in DOMAIN me[l.p] THEN [me EXCEPT ![l.p].sent = TRUE] ELSE me
    /\ UNCHANGED <<left, run, acked, gone, safe>>

\* When all have stopped, somebody deletes by key, and then inserts.
Finish ==
    /\ Final /\ \A p \in DOMAIN me : p < 6 /\ me[p].pc = "done"
    /\ me' = 6 :> Fresh("delkey")
    /\ late' = {} /\ left' = [lost |-> 0, late |-> 0, crash |-> 0]
    /\ run' = [run EXCEPT !.cast = <<>>]
    /\ acked' = {} /\ safe' = {}
    /\ UNCHANGED <<db, gone, over>>

InsertLast ==
    /\ DOMAIN me = {6} /\ me[6].pc = "done"
    /\ me' = me @@ 7 :> Fresh("staged")
    /\ UNCHANGED <<db, late, left, run, acked, gone, safe, over>>

-----------------------------------------------------------------------------

\* Which casts are worth a run: in the order of AllKinds, and one reader at most, as readers
\* change nothing.
Casts == LET ks == {i \in 1 .. Len(AllKinds) : AllKinds[i] \in Kinds}
             ordered == {c \in [1 .. NActors -> ks] : \A i, j \in 1 .. NActors : i < j => c[i] <= c[j]}
         IN {[i \in 1 .. NActors |-> AllKinds[c[i]]] :
                c \in {c \in ordered : Cardinality({i \in 1 .. NActors : AllKinds[c[i]] \in {"reader", "prefix"}}) <= 1}}

\* The order matters to readers of all alone, and to a delete by key.
Runs == {r \in [cast : Casts, order : Orders, start : Starts] :
            r.order = "first" \/ Orders = {"last"} \/ \E i \in 1 .. NActors : r.cast[i] \in {"reader", "txdelkey"}}

Init ==
    /\ run \in Runs
    /\ db = Stored(run.start)
    /\ late = {}
    /\ left = [lost |-> MaxLost, late |-> MaxLate, crash |-> MaxCrash]
    /\ me = [p \in 1 .. NActors |-> Fresh(Kind(p))]
    /\ acked = IF db[R].st = "live" THEN {9} ELSE {}
    /\ gone = {8}
    /\ safe = acked
    /\ over = FALSE
    /\ hist = [p \in 1 .. NActors |-> [live |-> IF db[R].st = "live" THEN {db[R].of} ELSE {}, seen |-> FALSE, free |-> TRUE]]

Sees(p, w) == \* what p wrote is to be seen in entity w
    me'[p].pc # "start" /\ db'[R].st = "live" /\ \E k \in Parts : db'[k].by = p /\ Belongs(db'[k], db'[R])
NextHist == hist' = IF ~TrackCalls THEN hist ELSE [p \in DOMAIN me' |->
    IF p \notin DOMAIN hist THEN [live |-> {}, seen |-> FALSE, free |-> FALSE]
    ELSE IF me[p].pc = "done" THEN hist[p]
    ELSE [live |-> (IF me'[p].pc \in {"start", "call"} THEN {} ELSE hist[p].live)
                   \union (IF db'[R].st = "live" THEN {db'[R].of} ELSE {}),
          seen |-> hist[p].seen \/ Sees(p, db'[R].of),
          free |-> hist[p].free /\ db'[R].st = "live" /\ db'[3].by \in {0, p}]]
NextCore == Arrive \/ Finish \/ InsertLast \/ \E p \in DOMAIN me : Step(p) \/ Crash(p)

Next == NextCore /\ NextHist

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Invariants.  They speak of what actors were told, and of what somebody  *)
(* would see who loads all in one instant.                                 *)

Live == db[R].st = "live"
Entity == db[R].of

\* Nothing torn: a live entity has all parts that were inserted with it.
NothingTorn == Live => \A k \in PartsOf(Entity) : Belongs(db[k], db[R]) /\ db[k].of = Entity

\* Nothing joined: and it has no part of another.
NothingJoined == Live => \A k \in Parts : Belongs(db[k], db[R]) => Whose(db[k]) \in {0, Entity}

\* The same for readers that take several steps.
ReadersSeeWhole == \A p \in DOMAIN me : me[p].res \notin {"torn", "joined", "risen"}

\* Nothing lost: an acknowledged insert is there until somebody begins to delete it.
NothingLost == \A x \in safe : Live /\ Entity = x

\* Two inserts that were both acknowledged have a delete between them.
Effective(d) == Deletes(d) /\ me[d].pc # "start" /\ me[d].res # "refused"
NothingTwice == Cardinality(acked) <= 1 + Cardinality({d \in DOMAIN me : Effective(d)})

\* An entity is not live again after its delete was acknowledged.
NothingRisen == Live => Entity \notin gone

Writers(p) == {p} \union {q \in DOMAIN me : Kind(q) \in {"saver", "patcher", "upserter", "founder", "foreign"}}

\* A save that was acknowledged is there as long as its entity is.
NoSaveLost == \A p \in DOMAIN me :
    Kind(p) = "saver" /\ me[p].res = "ok" /\ Live /\ Entity \in me[p].owe => db[me[p].k].by \in Writers(p)

\* So is an add, if nobody deletes.
NoAddLost == \A p \in DOMAIN me :
    /\ Kind(p) = "adder" /\ me[p].res = "ok" /\ \A q \in DOMAIN me : ~Deletes(q)
    => db[me[p].k].by \in Writers(p) /\ (Live => Belongs(db[me[p].k], db[R]))

\* From wherever things stand, one actor alone succeeds.
AloneSucceeds == \A p \in DOMAIN me : p >= 6 => me[p].res \in {"none", "ok"}

-----------------------------------------------------------------------------
(* What an acknowledged addition means.                                    *)

Adds(p) == Kind(p) \in {"saver", "upserter", "addnew", "founder"} /\ me[p].res = "ok" /\ (me[p].add \/ Kind(p) = "founder")

\* It was made to an entity that was live during the call.
AckAlive == \A p \in DOMAIN me : Adds(p) =>
    IF Kind(p) = "saver" THEN me[p].owe \subseteq hist[p].live ELSE hist[p].live # {}

\* The same of updates, if they are checked.
UpdateAlive == \A p \in DOMAIN me : CheckUpdates /\ Kind(p) = "saver" /\ me[p].res = "ok" /\ me[p].k # R => me[p].owe \subseteq hist[p].live

\* It could be seen in that entity at some instant before it was acknowledged.
AckSeen == \A p \in DOMAIN me : Adds(p) => hist[p].seen

\* It is there as long as the entity is, unless somebody else wrote the item.
Kept == \A p \in DOMAIN me : Adds(p) /\ Live /\ Entity \in (IF Kind(p) = "saver" THEN me[p].owe ELSE hist[p].live)
           /\ Cardinality(hist[p].live) <= 1 =>
    db[me[p].k].by = p \/ \E q \in DOMAIN me : q # p /\ Kind(q) \in {"saver", "patcher", "upserter", "addnew", "adder", "founder", "foreign"}

\* An addition is never seen in an entity that was not live during the call.
Stranger == \A p \in DOMAIN me : Kind(p) \in {"upserter", "addnew", "founder", "saver"} /\ me[p].pc = "done" /\ Live =>
    \A k \in Parts : (db[k].by = p /\ Belongs(db[k], db[R]) /\ "add" \in DOMAIN me[p] /\ me[p].add) => Entity \in hist[p].live

\* What was acknowledged before a move ended is taken along, or is still at the old key and was reported.
Moved == \A p, q \in DOMAIN me : (Adds(p) /\ ~(Kind(p) = "founder" /\ me[p].new) /\ Kind(q) = "mover" /\ me[q].res = "ok") => p \in me[q].took
    \/ \E r \in DOMAIN me : r # p /\ Kind(r) \in {"saver", "upserter", "founder", "foreign"} \* who wrote the item after p

\* An add is refused only if the entity was not live, or had that part, at some time during the call.
RefusedForAReason == \A p \in DOMAIN me : Kind(p) = "addnew" /\ me[p].res = "refused" => ~hist[p].free \/ run.start \notin {"short"}

\* Where nothing went wrong, no item is left over. (A move reports what was added: Moved.)
\* At most one fault, or the writers that come after all others.
OneFault == 6 \in DOMAIN me \/ left.lost + left.late + left.crash >= MaxLost + MaxLate + MaxCrash - 1

Calm == left = [lost |-> MaxLost, late |-> MaxLate, crash |-> MaxCrash] /\ late = {}
NoOrphan == Calm /\ run.start \notin {"claimed", "halfgone", "leftover", "shadow"} /\ DOMAIN me = 1 .. NActors /\ (\A p \in DOMAIN me : me[p].pc = "done" /\ Kind(p) # "mover")
    => \A k \in Parts : (db[k].by \in DOMAIN me /\ Kind(db[k].by) \in {"saver", "upserter", "addnew", "founder"} /\ db[k].st # "none") => Live /\ Belongs(db[k], db[R])

\* No save, and no delete of loaded items, was applied to a value that it had not read.
NothingOverwritten == ~over
=============================================================================
