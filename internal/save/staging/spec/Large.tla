------------------------------- MODULE Large -------------------------------
(***************************************************************************)
(* One large value of an entity, whose parts lie in items of their own:    *)
(* writers replace it, inserters and deleters come and go, a collector     *)
(* removes what nothing points to, over a network that loses answers and   *)
(* delivers requests late.  README.md says what each action is in the      *)
(* code, what is left out, and how to run this.                            *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
    NActors, Kinds, Starts,
    MaxLost,    \* how many requests are applied without an answer
    MaxLate,    \* how many get no answer, and are applied any time later, or never
    MaxCrash,   \* how many actors stop somewhere

    \* The clauses of the protocol. Each is TRUE; README.md says what goes wrong without it.
    FlipNeedsOpen,      \* a pointer turns only where the record is still open
    AbortFirst,         \* who gives up marks his record aborted before he deletes parts
    BeforeDeadline,     \* record and parts are sent before the record's deadline alone
    WaitSignature,      \* parts are collected when no request of their writer can arrive any more
    RecordFirst,        \* the collector reads a record before its parent
    HiddenPoints,       \* what a staged insert has put points as well
    NewIncarnation,     \* an insert that begins again has another incarnation
    UniqueIds,          \* two writers never take one id
    ReaderKnowsDead     \* a reader that misses a part also asks whether the item is dead

AllKinds == <<"replace",  \* loads, and replaces the value; again where others were faster, or not
              "patch",    \* replaces it, and has read nothing
              "insert",   \* a staged insert
              "delete",   \* deletes root and item at once
              "half",     \* a staged delete
              "away",     \* loads, and puts a small value in its place
              "reader",
              "collector">>

AllStarts == {"empty",
              "live",      \* a live entity whose item points to value 90
              "marked",    \* the same, whose item has the mark of its insert yet
              "inline",    \* a live entity with a small value
              "claimed",   \* a crashed insert: a claim, a hidden item, an open record past its deadline
              "replaced",  \* a live entity, and value 80, which nothing points to any more
              "given up",  \* the same, of an aborted record with one part
              "overtaken"} \* a crashed delete of a marked item, and a claim over it: whoever reads began before

VARIABLES
    db, late, left, me, run,
    past,   \* ids whose deadline is over
    \* What follows is for the invariants alone.
    shown   \* ids that an item has pointed to which was not hidden: a delete may be about to remove it

vars == <<db, late, left, me, run, past, shown>>

-----------------------------------------------------------------------------
(* Keys: the root, the item, and for each id its record and two parts. *)

R == 1
P == 2
Rec(id) == 100 + id
Part(id, k) == 1000 * k + id

Actors == 1 .. NActors
Ids == {80, 90} \union {10 * p + n : p \in Actors, n \in {1, 2}}
Keys == {R, P} \union {Rec(id) : id \in Ids} \union {Part(id, k) : id \in Ids, k \in {1, 2}}

Absent == [st |-> "none", ver |-> 0]
Root(st, ver, a) == [st |-> st, ver |-> ver, a |-> a]
Item(ver, a, hid, ptr) == [st |-> "item", ver |-> ver, a |-> a, hid |-> hid, ptr |-> ptr]
Record(st, note) == [st |-> st, ver |-> 0, note |-> note]
There == [st |-> "there", ver |-> 0]

Stored(s) ==
    LET none == [k \in Keys |-> Absent]
        value(id, st) == (Rec(id) :> Record(st, FALSE)) @@ (Part(id, 1) :> There) @@ (Part(id, 2) :> There)
        entity(hid, ptr) == (R :> Root("live", 901, 9)) @@ (P :> Item(902, 9, hid, ptr))
    IN CASE s = "empty" -> none
         [] s = "live" -> entity(FALSE, 90) @@ value(90, "flipped") @@ none
         [] s = "marked" -> entity(TRUE, 90) @@ value(90, "flipped") @@ none
         [] s = "inline" -> entity(FALSE, 0) @@ none
         [] s = "claimed" -> (R :> Root("inserting", 801, 8)) @@ (P :> Item(802, 8, TRUE, 80)) @@ value(80, "open") @@ none
         [] s = "replaced" -> entity(FALSE, 90) @@ value(90, "flipped") @@ value(80, "flipped") @@ none
         [] s = "overtaken" -> (R :> Root("inserting", 801, 8)) @@ (P :> Item(902, 9, TRUE, 90)) @@ value(90, "flipped") @@ none
         [] s = "given up" -> entity(FALSE, 0) @@ (Rec(80) :> Record("aborted", FALSE)) @@ (Part(80, 1) :> There) @@ none

\* An item that a staged insert has put is dead where its root is no more, or of another insert.
Dead(item, root) == item.hid /\ (root.st = "none" \/ root.a # item.a)
Points(item, root, id) == item.st = "item" /\ item.ptr = id /\ ~Dead(item, root) /\ (HiddenPoints \/ ~item.hid)

\* What somebody would be shown: the id, 0 for none.
Visible(s) == IF s[R].st = "live" /\ s[P].st = "item" /\ s[P].a = s[R].a THEN s[P].ptr ELSE 0
Whole(s, id) == s[Part(id, 1)].st = "there" /\ s[Part(id, 2)].st = "there"

-----------------------------------------------------------------------------
(* Requests, as in Staging.tla. *)

Write(cond, v, new) == [c |-> cond, v |-> v, new |-> new]
Put(v, new) == Write(IF v = 0 THEN "absent" ELSE "version", v, new)
Blind(id, ver) == Write("plain item", id, Absent @@ [ptr |-> id, to |-> ver])
Always(new) == Write("any", 0, new)
Same(i, new) == Write("same", i, new)
Flip(id) == Rec(id) :> Write(IF FlipNeedsOpen THEN "open" ELSE "any", 0, Record("flipped", FALSE))
Abort(id) == Rec(id) :> Write("open", 0, Record("aborted", FALSE))

Meets(i, w) ==
    CASE w.c = "absent" -> i.st = "none"
      [] w.c = "version" -> i.ver = w.v
      [] w.c = "plain item" -> i.st = "item" /\ ~i.hid
      [] w.c = "same" -> i = w.v
      [] w.c = "open" -> i.st = "open"
      [] w.c = "any" -> TRUE

Accepted(req) == \A k \in DOMAIN req : Meets(db[k], req[k])
Made(k, w) == IF w.c = "plain item" THEN [db[k] EXCEPT !.ptr = w.v, !.ver = w.new.to] ELSE w.new
After(req) == [k \in Keys |-> IF k \in DOMAIN req THEN Made(k, req[k]) ELSE db[k]]

Send(p, req, ok, refused, lost) ==
    \/ /\ db' = IF Accepted(req) THEN After(req) ELSE db
       /\ me' = [me EXCEPT ![p] = IF Accepted(req) THEN ok ELSE refused]
       /\ UNCHANGED <<late, left>>
    \/ /\ left.lost > 0 /\ Accepted(req)
       /\ db' = After(req)
       /\ me' = [me EXCEPT ![p] = lost]
       /\ left' = [left EXCEPT !.lost = @ - 1]
       /\ UNCHANGED late
    \/ /\ left.late > 0
       /\ late' = late \union {req}
       /\ me' = [me EXCEPT ![p] = lost]
       /\ left' = [left EXCEPT !.late = @ - 1]
       /\ UNCHANGED db

Go(p, next) == me' = [me EXCEPT ![p] = next] /\ UNCHANGED <<db, late, left>>

Kind(p) == IF p = 7 THEN "collector" ELSE run.cast[p]

-----------------------------------------------------------------------------
(* Writers.  n: the try, which gives the id; v: the item's version; a: the  *)
(* entity's incarnation; rv: the root's version; doubt: the flip got no     *)
(* answer; more: it begins again when it has cleaned up; c: how many       *)
(* claims it has sent, each of a version of its own; mine: those of which   *)
(* it got no answer.                                                        *)

Fresh == [pc |-> "start", res |-> "none", n |-> 1, v |-> 0, a |-> 0, rv |-> 0, k |-> 1, doubt |-> FALSE, more |-> FALSE,
          id |-> 0, st |-> "none", hid |-> FALSE, left |-> 3, again |-> FALSE, c |-> 0, mine |-> {}]
Done(res) == [pc |-> "done", res |-> res]
Doubtful(m) == Done(IF m.doubt THEN "unknown" ELSE "refused")
Writes(p) == Kind(p) \in {"replace", "patch", "insert"}
Id(p) == IF UniqueIds THEN 10 * p + me[p].n ELSE 10 + me[p].n
Token(p, x) == 100 * p + 10 * me[p].n + x
Incarnation(p) == IF NewIncarnation THEN Id(p) ELSE 10 * p
Late(p) == Id(p) \in past /\ BeforeDeadline

\* Cleans up, and then begins again, if it has not yet.
Clean(m, more) == [m EXCEPT !.pc = "clean", !.k = 1, !.more = more /\ m.n = 1]
GiveUp(m) == IF AbortFirst THEN [m EXCEPT !.pc = "abort", !.more = FALSE] ELSE Clean(m, FALSE)
\* What the record tells of a flip that was refused, or got no answer.
Told(m, rec, otherwise) ==
    CASE rec.st = "flipped" -> Done("ok")
      [] rec.st = "aborted" -> Clean(m, TRUE)
      [] rec.st = "none" -> IF m.doubt THEN Done("unknown") ELSE Clean(m, TRUE)
      [] rec.st = "open" -> otherwise

Start(p) ==
    LET m == me[p]
        r == db[R]
        i == db[P]
    IN /\ m.pc = "start" /\ Writes(p)
       /\ Go(p, CASE Kind(p) = "patch" -> [m EXCEPT !.pc = "record"]
                  [] Kind(p) = "insert" -> IF r.st = "live" THEN Done("refused") ELSE [m EXCEPT !.pc = "record", !.rv = r.ver]
                  [] OTHER -> IF Visible(db) = 0 /\ ~(r.st = "live" /\ i.st = "item" /\ i.a = r.a) THEN Done("refused")
                              ELSE [m EXCEPT !.pc = "record", !.v = i.ver, !.a = i.a])

PutRecord(p) ==
    LET m == me[p]
        next == [m EXCEPT !.pc = "parts", !.k = 1]
    IN /\ m.pc = "record"
       /\ IF Late(p) THEN Go(p, [m EXCEPT !.pc = "abort", !.more = TRUE])
          ELSE Send(p, Rec(Id(p)) :> Put(0, Record("open", FALSE)), next,
                    IF db[Rec(Id(p))].st = "open" THEN next ELSE Clean(m, TRUE), m)

PutPart(p) ==
    LET m == me[p] IN
    /\ m.pc = "parts"
    /\ IF Late(p) THEN Go(p, [m EXCEPT !.pc = "abort", !.more = TRUE])
       ELSE Send(p, Part(Id(p), m.k) :> Always(There),
                 IF m.k = 1 THEN [m EXCEPT !.k = 2]
                 ELSE IF Kind(p) = "insert" THEN [m EXCEPT !.pc = "claim"] ELSE [m EXCEPT !.pc = "flip"],
                 m, m)

Turn(p) ==
    LET m == me[p]
        rec == db[Rec(Id(p))]
        pointer == IF Kind(p) = "patch" THEN Blind(Id(p), Token(p, 2))
                   ELSE Write("version", m.v, Item(Token(p, 2), m.a, FALSE, Id(p)))
        req == (P :> [pointer EXCEPT !.v = IF Kind(p) = "patch" THEN Id(p) ELSE m.v]) @@ Flip(Id(p))
    IN /\ m.pc = "flip"
       /\ \/ Send(p, req, Done("ok"),
                  Told(m, rec, GiveUp(m)),
                  [m EXCEPT !.doubt = TRUE, !.pc = "ask"])
          \* Somebody was faster: the same value for what is stored now.
          \/ /\ Kind(p) = "replace" /\ ~Accepted(req) /\ rec.st = "open" /\ ~m.again
             /\ Go(p, [m EXCEPT !.pc = "reload", !.again = TRUE])

Ask(p) ==
    LET m == me[p] IN
    /\ m.pc = "ask"
    /\ Go(p, Told(m, db[Rec(Id(p))], [m EXCEPT !.pc = IF Kind(p) = "insert" THEN "live" ELSE "flip"]))

Reload(p) ==
    LET m == me[p] IN
    /\ m.pc = "reload"
    /\ Go(p, IF db[R].st = "live" /\ db[P].st = "item" /\ db[P].a = db[R].a
             THEN [m EXCEPT !.pc = "flip", !.v = db[P].ver, !.a = db[P].a] ELSE GiveUp(m))

AbortOwn(p) ==
    LET m == me[p]
        rec == db[Rec(Id(p))]
    IN /\ m.pc = "abort"
       /\ Send(p, Abort(Id(p)), Clean(m, m.more),
               CASE rec.st = "flipped" -> Done("ok")
                 [] rec.st = "aborted" -> Clean(m, m.more)
                 [] OTHER -> IF m.doubt THEN Done("unknown") ELSE Clean(m, m.more),
               m)

CleanUp(p) ==
    LET m == me[p]
        next == CASE m.k = 1 -> [m EXCEPT !.k = 2]
                  [] m.more -> [Fresh EXCEPT !.n = 2, !.doubt = m.doubt]
                  [] OTHER -> Done("refused")
    IN /\ m.pc = "clean"
       /\ Send(p, Part(Id(p), m.k) :> Always(Absent), next, next, next)

\* A staged insert: claim, the item with its pointer, and going live with the flip.
Claim(p) ==
    LET m == me[p]
        r == db[R]
        ver == 10000 * p + 10 * m.n + m.c
        next(v) == [m EXCEPT !.pc = "item", !.v = 0, !.rv = v, !.c = @ + 1]
    IN /\ m.pc = "claim"
       /\ Send(p, R :> Put(m.rv, Root("inserting", ver, Incarnation(p))), next(ver),
               IF r.ver \in m.mine /\ r.st = "inserting" THEN next(r.ver)
               ELSE IF r.st = "live" THEN GiveUp(m)
               ELSE [m EXCEPT !.rv = r.ver, !.c = @ + 1],
               [m EXCEPT !.c = @ + 1, !.mine = @ \union {ver}])

PutItem(p) ==
    LET m == me[p]
        i == db[P]
        next == [m EXCEPT !.pc = "live"]
    IN /\ m.pc = "item"
       /\ Send(p, P :> Put(m.v, Item(Token(p, 3), Incarnation(p), TRUE, Id(p))), next,
               IF i.st = "none" THEN [m EXCEPT !.v = 0]
               ELSE IF i.a = Incarnation(p) THEN next
               ELSE [m EXCEPT !.pc = "judge", !.v = i.ver], m)

Judge(p) ==
    LET m == me[p] IN
    /\ m.pc = "judge"
    /\ Go(p, IF db[R].ver = m.rv THEN [m EXCEPT !.pc = "item"] ELSE GiveUp(m))

GoLive(p) ==
    LET m == me[p]
        rec == db[Rec(Id(p))]
    IN /\ m.pc = "live"
       /\ Send(p, (R :> Put(m.rv, Root("live", Token(p, 4), Incarnation(p)))) @@ Flip(Id(p)), Done("ok"),
               Told(m, rec, GiveUp(m)),
               [m EXCEPT !.doubt = TRUE, !.pc = "ask"])

Writer(p) == \/ Start(p) \/ PutRecord(p) \/ PutPart(p) \/ Turn(p) \/ Ask(p) \/ Reload(p) \/ AbortOwn(p) \/ CleanUp(p)
             \/ Claim(p) \/ PutItem(p) \/ Judge(p) \/ GoLive(p)

-----------------------------------------------------------------------------
(* Others who write the item, and have no value of their own. *)

Without(p) ==
    LET m == me[p]
        r == db[R]
        i == db[P]
        gone == (R :> Write("version", m.rv, Absent)) @@ (P :> Write("version", m.v, Absent))
        small == P :> Write("version", m.v, Item(Token(p, 5), m.a, FALSE, 0))
        mark == R :> Write("version", m.rv, Root("deleting", Token(p, 6), m.a))
        Try(req, next) == Send(p, req, next, Doubtful(m), [m EXCEPT !.doubt = TRUE])
    IN /\ Kind(p) \in {"delete", "away", "half"}
       /\ \/ m.pc = "start" /\ Go(p, IF r.st # "live" \/ i.st # "item" \/ i.a # r.a THEN Done("refused")
                                     ELSE [m EXCEPT !.pc = Kind(p), !.v = i.ver, !.rv = r.ver, !.a = r.a])
          \/ m.pc = "delete" /\ Try(gone, Done("ok"))
          \/ m.pc = "away" /\ Try(small, Done("ok"))
          \/ m.pc = "half" /\ Try(mark, [m EXCEPT !.pc = "item gone"])
          \/ m.pc = "item gone" /\ Send(p, P :> Write("version", m.v, Absent), [m EXCEPT !.pc = "root gone"],
                                        [m EXCEPT !.pc = "root gone"], m)
          \/ m.pc = "root gone" /\ Send(p, R :> Write("version", Token(p, 6), Absent), Done("ok"), Done("ok"), m)

-----------------------------------------------------------------------------
(* A reader: the item, its parts, and the item again where one is missing.  *)

Read(p) ==
    LET m == me[p]
        i == db[P]
        missing == [m EXCEPT !.pc = "compare"]
        same == i.st = "item" /\ i.ptr = m.id
    IN /\ Kind(p) = "reader"
       /\ \/ m.pc = "start" /\ Go(p, IF run.start = "overtaken" THEN [m EXCEPT !.pc = "one", !.id = 90]
                                     ELSE IF Visible(db) = 0 THEN Done("ok") ELSE [m EXCEPT !.pc = "one", !.id = Visible(db)])
          \/ m.pc = "one" /\ Go(p, IF db[Part(m.id, 1)].st = "there" THEN [m EXCEPT !.pc = "two"] ELSE missing)
          \/ m.pc = "two" /\ Go(p, IF db[Part(m.id, 2)].st = "there" THEN Done("ok") ELSE missing)
          \/ m.pc = "compare" /\ Go(p, IF ~same THEN Done("changed")
                                       ELSE IF ReaderKnowsDead /\ i.hid THEN [m EXCEPT !.pc = "ask root", !.a = i.a]
                                       ELSE IF m.again THEN Done("corrupt")
                                       ELSE [m EXCEPT !.pc = "one", !.again = TRUE])
          \/ m.pc = "ask root" /\ Go(p, IF db[R].st = "none" \/ db[R].a # m.a THEN Done("changed")
                                        ELSE IF m.again THEN Done("corrupt")
                                        ELSE [m EXCEPT !.pc = "one", !.again = TRUE])

-----------------------------------------------------------------------------
(* The collector: one record after the other.  left: how many it visits.    *)

Visit(m) == IF m.left = 1 THEN Done("ok") ELSE [Fresh EXCEPT !.pc = "start", !.left = m.left - 1]
\* Whether a request of the writer of a value may be on its way yet.
OnItsWay(id) == \E req \in late : \E k \in DOMAIN req : k \in {Rec(id), Part(id, 1), Part(id, 2)}

Pick(p) == \E id \in Ids :
    LET m == me[p]
        rec == db[Rec(id)]
        to(pc) == [m EXCEPT !.pc = pc, !.id = id, !.st = rec.st, !.hid = rec.note, !.k = 1]
        final == p = 7
    IN /\ m.pc = "start"
       /\ CASE rec.st = "none" -> FALSE
            [] rec.st = "open" -> id \in past /\ Go(p, to("give up"))
            [] rec.st = "aborted" -> (WaitSignature => ~OnItsWay(id)) /\ Go(p, to("delete"))
            [] rec.st = "flipped" -> ~(final /\ ~rec.note /\ Points(db[P], db[R], id)) /\ Go(p, to("parent"))

GiveUpFor(p) ==
    LET m == me[p]
        next == Visit(m)
    IN m.pc = "give up" /\ Send(p, Abort(m.id), next, next, next)

\* The item, and of a hidden one the root after it.
Decide(p, points) ==
    LET m == me[p]
        next == Visit(m)
        Note(note) == Send(p, Rec(m.id) :> Same(Record("flipped", m.hid), Record("flipped", note)), next, next, next)
    IN CASE points /\ m.hid -> Note(FALSE)
         [] points /\ ~m.hid -> Go(p, next)
         [] ~points /\ ~m.hid -> Note(TRUE)
         [] ~points /\ m.hid -> (WaitSignature => ~OnItsWay(m.id)) /\ Go(p, [m EXCEPT !.pc = "delete"])

Parent(p) ==
    LET m == me[p]
        i == db[P]
        mine == i.st = "item" /\ i.ptr = m.id
    IN \/ /\ m.pc = "parent"
          /\ IF mine /\ i.hid THEN Go(p, [m EXCEPT !.pc = "root", !.a = i.a]) ELSE Decide(p, mine)
       \/ /\ m.pc = "root"
          /\ Decide(p, HiddenPoints /\ db[R].st # "none" /\ db[R].a = m.a)

\* Without RecordFirst: what the item points to was read before the record.
ParentFirst(p) == \E id \in Ids :
    LET m == me[p] IN
    /\ ~RecordFirst /\ Kind(p) = "collector" /\ p # 7
    /\ \/ m.pc = "start" /\ db[P].st # "none" /\ db[P].ptr # id /\ Go(p, [m EXCEPT !.pc = "then record", !.id = id])
       \/ m.pc = "then record" /\ m.id = id /\ Go(p, IF db[Rec(id)].st = "flipped" THEN [m EXCEPT !.pc = "delete", !.k = 1] ELSE Visit(m))

Remove(p) ==
    LET m == me[p]
        key == IF m.k = 3 THEN Rec(m.id) ELSE Part(m.id, m.k)
        next == IF m.k = 3 THEN Visit(m) ELSE [m EXCEPT !.k = @ + 1]
    IN m.pc = "delete" /\ Send(p, key :> Always(Absent), next, next, m)

Stop(p) == p # 7 /\ me[p].pc = "start" /\ Go(p, Done("ok"))

Collect(p) == Kind(p) = "collector" /\ (Pick(p) \/ GiveUpFor(p) \/ Parent(p) \/ ParentFirst(p) \/ Remove(p) \/ Stop(p))

-----------------------------------------------------------------------------

Step(p) == me[p].pc # "done" /\ (Writer(p) \/ Without(p) \/ Read(p) \/ Collect(p))
Turned(s) == {Visible(s)} \union IF s[P].st = "item" /\ ~s[P].hid THEN {s[P].ptr} ELSE {}
Tracked == shown' = shown \union Turned(db') /\ UNCHANGED <<run, past>>

\* A deadline comes when nobody knows; what was signed a signature's life ago is dropped.
Tick == \E p \in DOMAIN me :
    /\ me[p].pc \notin {"start", "done"} /\ p # 7 /\ Writes(p) /\ Id(p) \notin past
    /\ past' = past \union {Id(p)} /\ UNCHANGED <<db, late, left, me, run, shown>>
Crash(p) ==
    /\ me[p].pc \notin {"start", "done"} /\ left.crash > 0 /\ Kind(p) # "reader"
    /\ me' = [me EXCEPT ![p] = Done("crashed")]
    /\ left' = [left EXCEPT !.crash = @ - 1]
    /\ UNCHANGED <<db, late, run, past, shown>>
Arrive(req) == Accepted(req) /\ db' = After(req) /\ late' = late \ {req} /\ UNCHANGED <<left, me>>
Expire(req) == late' = late \ {req} /\ UNCHANGED <<db, left, me, run, past, shown>>

\* When all have stopped a collector runs alone, as often as it takes.
Finish ==
    /\ \A p \in DOMAIN me : p < 7 /\ me[p].pc = "done"
    /\ late = {}
    /\ me' = 7 :> [Fresh EXCEPT !.left = 99]
    /\ past' = Ids
    /\ UNCHANGED <<db, late, left, run, shown>>

Casts == LET ks == {i \in 1 .. Len(AllKinds) : AllKinds[i] \in Kinds}
             ordered == {c \in [Actors -> ks] : \A i, j \in Actors : i < j => c[i] <= c[j]}
         IN {[i \in Actors |-> AllKinds[c[i]]] :
                c \in {c \in ordered : Cardinality({i \in Actors : AllKinds[c[i]] = "reader"}) <= 1}}

Init ==
    /\ run \in [cast : Casts, start : Starts]
    /\ db = Stored(run.start)
    /\ late = {} /\ left = [lost |-> MaxLost, late |-> MaxLate, crash |-> MaxCrash]
    /\ me = [p \in Actors |-> Fresh]
    /\ past = {80, 90} /\ shown = {}

Next == \/ Finish \/ Tick
        \/ \E p \in DOMAIN me : Step(p) /\ Tracked
        \/ \E p \in DOMAIN me : Crash(p)
        \/ \E req \in late : (Arrive(req) /\ Tracked) \/ Expire(req)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Invariants. *)

\* What can be seen is whole.
SeenWhole == Visible(db) # 0 => Whole(db, Visible(db))
\* No reader takes for damage what is none.
NoFalseAlarm == \A p \in DOMAIN me : me[p].res # "corrupt"
\* A write that was acknowledged could be seen; one that was refused never can.
Acknowledged == \A p \in DOMAIN me : Writes(p) =>
    /\ me[p].res = "ok" => \E n \in {1, 2} : 10 * p + n \in shown \/ ~UniqueIds
    /\ me[p].res = "refused" => \A n \in {1, 2} : 10 * p + n \notin shown
\* When a collector has run alone, no part is left that nothing points to, and no record but theirs.
NothingLeft ==
    (7 \in DOMAIN me /\ me[7].pc = "start" /\ \A id \in Ids :
        db[Rec(id)].st = "none" \/ (db[Rec(id)].st = "flipped" /\ ~db[Rec(id)].note /\ Points(db[P], db[R], id)))
    => \A id \in Ids :
        /\ (\E k \in {1, 2} : db[Part(id, k)].st = "there") => Points(db[P], db[R], id) /\ Whole(db, id)
        /\ db[Rec(id)].st # "none" => Whole(db, id)
=============================================================================
