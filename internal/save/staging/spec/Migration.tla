----------------------------- MODULE Migration -----------------------------
(***************************************************************************)
(* A monolith becomes a collection, and back, one conditional request at a *)
(* time, while others read, write, insert and delete the entity: over a    *)
(* network that loses answers and delivers requests late.  README.md says  *)
(* what is left out, and how to run this.                                  *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
    NActors, Kinds, Starts, Lasts, Tries, MaxLost, MaxLate, MaxCrash,
    \* The clauses of the protocol. Each is TRUE; README.md says what goes wrong without it.
    TookCounts,        \* a mark with an incarnation that the claim took over is the claim's
    CompareStaged,     \* a claim with another's mark goes live only with parts of the content that was marked
    UnflipNewVersion,  \* a rollback gives the monolith a new version
    UnflipAlways,      \* also one of an entity that was never live, marked or not
    InsertReadsAgain,  \* an insert reads the monolith again when it has its claim
    AddChecksRoot,     \* an add requires that the root is live
    Freeze,            \* a rollback writes each part once more before it copies it
    RootAfterItems,    \* who loads to save reads the root after the items
    ClaimAfresh,       \* each attempt of a claim has an incarnation of its own
    ClaimStands,       \* a claim is put in place of another only where that is there yet
    ClearsStale,       \* whoever removes a claim that nobody needs removes its parts
    Tidies,            \* whoever converts removes at the end the parts that it has put, or taken over, for claims that are gone
    RestoredTells,     \* a rollback knows the monolith that it has written by its version
    NotesRestore,      \* a rollback notes on the root that it has written the monolith, before it removes the first item
    PutsAfresh,        \* a part that may have been put is put again for a claim of another incarnation
    SettleTakesMark,   \* who keeps the monolith takes the mark of another claim for the root's
    OwnMark,           \* who makes a root live has marked the monolith last, and takes back a mark of its own that nothing has made live
    SettlesClaims,     \* who keeps the monolith may do so where a claim has marked it and is not live
    CompareImported    \* an imported claim is gone on with only where the monolith is what was imported

AllKinds == <<"backfill",  \* converts the entity
              "save",      \* converts it if need be, and changes one part
              "add",       \* converts it if need be, and adds a part
              "insert",    \* inserts it
              "delete",    \* deletes it
              "old",       \* changes the monolith, as long as that is not marked
              "trim",      \* the same: it takes the first part away
              "cut",       \* converts it if need be, and removes the first part
              "rollback",  \* makes it a monolith again
              "put",       \* a program that knows only the old layout: reads the monolith, and writes it as a whole
              "twice",     \* the same: it deletes the monolith, and inserts the same again
              "upd",       \* the same: it changes an attribute of the monolith, and leaves the mark
              "erase",     \* the same: it deletes the monolith
              "keepmono",  \* settles an entity that is in both layouts: its monolith stays
              "keepcoll",  \* the same: its collection stays
              "reader">>

AllStarts == {"monolith",  \* a monolith alone
              "nothing",
              "claimed",   \* a crashed backfill: a claim and one part
              "imported",  \* a claim with all of its parts, put in bulk while nobody used the collection's table
              "marked",    \* a crashed backfill after the flip
              "moved",     \* a live collection, and the marked monolith
              "new",       \* a live collection that never was a monolith
              "gone",      \* a marked monolith whose collection was deleted
              "deleted",   \* a monolith marked as deleted, and a claim that somebody left
              "rolling",   \* a crashed rollback of a live collection
              "restored",  \* the same, behind its write of the monolith, and the note of that
              "both",      \* a live collection, and an unmarked monolith
              "changed"}   \* a live collection, and a marked monolith that was changed since

VARIABLES db, late, left, me, run,
    seen,  \* what somebody would have seen since the reader began
    did,   \* actors whose write could be seen once it was applied
    back,  \* incarnations whose monolith a rollback has written
    bad    \* what went wrong, for the invariants

vars == <<db, late, left, me, run, seen, did, back, bad>>

-----------------------------------------------------------------------------
(* Items.  The content is who wrote the root's value, the first part's, and *)
(* the second part's (0: there is none).                                    *)

Parts == {2, 3}
M == 0
R == 1
Keys == {M, R, 2, 3}

\* chg: a program that knows only the old layout has changed it since it was marked.
NoDoc == [st |-> "none", ver |-> 0, c |-> <<0, 0, 0>>, mark |-> "no", x |-> 0, chg |-> FALSE]
\* whole is what a claim's parts hold that was imported with all of them.
NoRoot == [st |-> "none", ver |-> 0, a |-> 0, took |-> {}, d |-> 0, from |-> "no", val |-> 0, whole |-> <<0, 0, 0>>]
NoPart == [st |-> "none", ver |-> 0, a |-> 0, val |-> 0]
None == [k \in Keys |-> CASE k = M -> NoDoc [] k = R -> NoRoot [] OTHER -> NoPart]
Nobody == <<0, 0, 0>>

Doc(ver, c, mark, x) == [st |-> "doc", ver |-> ver, c |-> c, mark |-> mark, x |-> x, chg |-> FALSE]
Claim(ver, a, took) == [NoRoot EXCEPT !.st = "migrating", !.ver = ver, !.a = a, !.took = took]
Part(ver, a, val) == [st |-> "part", ver |-> ver, a |-> a, val |-> val]

Unmarked(m) == m.st = "doc" /\ m.mark = "no"
\* The version of the monolith that a rollback writes of an incarnation.
Restored(a) == 1000 + a
\* The mark of a monolith is that of a root's claim.
Its(m, r) == m.mark = "moved" /\ (m.x = r.a \/ (TookCounts /\ m.x \in r.took))
Belongs(i, r) == i.st = "part" /\ i.a = r.a

C9 == <<9, 9, 0>>
LiveRoot9 == [NoRoot EXCEPT !.st = "live", !.ver = 901, !.a = 90, !.val = 9]
Stored(s) ==
    CASE s = "nothing" -> None
      [] s = "monolith" -> [None EXCEPT ![M] = Doc(0, C9, "no", 0)]
      [] s = "claimed" -> [None EXCEPT ![M] = Doc(0, C9, "no", 0), ![R] = Claim(901, 90, {}), ![2] = Part(902, 90, 9)]
      [] s = "imported" -> [None EXCEPT ![M] = Doc(0, C9, "no", 0), ![R] = [Claim(901, 90, {}) EXCEPT !.whole = C9], ![2] = Part(902, 90, 9)]
      [] s = "marked" -> [None EXCEPT ![M] = Doc(0, C9, "moved", 90), ![R] = Claim(901, 90, {}), ![2] = Part(902, 90, 9)]
      [] s = "moved" -> [None EXCEPT ![M] = Doc(0, C9, "moved", 90), ![R] = LiveRoot9, ![2] = Part(902, 90, 9)]
      [] s = "new" -> [None EXCEPT ![R] = LiveRoot9, ![2] = Part(902, 90, 9)]
      [] s = "gone" -> [None EXCEPT ![M] = Doc(0, C9, "moved", 90), ![2] = Part(902, 80, 9)]
      [] s = "deleted" -> [None EXCEPT ![M] = Doc(900, C9, "deleted", 0), ![R] = Claim(901, 90, {}), ![2] = Part(902, 90, 9)]
      [] s = "rolling" -> [None EXCEPT ![M] = Doc(0, C9, "moved", 90), ![2] = Part(902, 90, 9),
                                       ![R] = [LiveRoot9 EXCEPT !.st = "rolling", !.d = 80, !.from = "live"]]
      [] s = "restored" -> [None EXCEPT ![M] = Doc(Restored(90), C9, "no", 0), ![2] = Part(902, 90, 9),
                                       ![R] = [LiveRoot9 EXCEPT !.st = "rolling", !.d = 80, !.from = IF NotesRestore THEN "restored" ELSE "live"]]
      [] s = "both" -> [None EXCEPT ![M] = Doc(0, <<9, 8, 0>>, "no", 0), ![R] = LiveRoot9, ![2] = Part(902, 90, 9)]
      [] s = "changed" -> [None EXCEPT ![M] = [Doc(0, <<9, 8, 0>>, "moved", 90) EXCEPT !.chg = TRUE], ![R] = LiveRoot9, ![2] = Part(902, 90, 9)]

\* The content of a collection, and what somebody is shown who reads all in one instant.
Items(s) == LET r == s[R] IN <<r.val, IF Belongs(s[2], r) THEN s[2].val ELSE 0, IF Belongs(s[3], r) THEN s[3].val ELSE 0>>
View(s) ==
    LET m == s[M]
        r == s[R]
    IN CASE r.st = "live" -> Items(s)
         [] r.st = "migrating" -> IF Unmarked(m) \/ Its(m, r) THEN m.c ELSE Nobody
         [] r.st = "rolling" /\ r.from = "live" -> IF Unmarked(m) THEN m.c ELSE Items(s)
         [] r.st = "rolling" -> IF Unmarked(m) \/ Its(m, r) THEN m.c ELSE Nobody
         [] OTHER -> IF Unmarked(m) THEN m.c ELSE Nobody

-----------------------------------------------------------------------------
(* Requests, as in Staging.tla. *)

Write(cond, v, new) == [c |-> cond, v |-> v, new |-> new]
Put(v, new) == Write(IF v = 0 THEN "absent" ELSE "version", v, new)
\* The monolith as it was read: its version, or its attributes.
Same(m, new) == Write("same", m, new)
Check(a) == Write("live", a, NoRoot)
\* The root has that version.
CheckVersion(v) == Write("check", v, NoRoot)
\* The mark is taken away from a monolith, of which nothing else is compared or written.
Unmark(m, ver) == Write("unmark", m, [NoDoc EXCEPT !.ver = ver])

Meets(i, w) ==
    CASE w.c = "absent" -> i.st = "none"
      [] w.c = "version" -> i.ver = w.v
      [] w.c = "versionOrAbsent" -> i.ver = w.v \/ i.st = "none"
      [] w.c = "same" -> i = w.v
      [] w.c = "live" -> i.st = "live" /\ i.a = w.v
      [] w.c = "check" -> i.ver = w.v
      [] w.c = "unmark" -> i.st = "doc" /\ i.ver = w.v.ver /\ i.mark = w.v.mark /\ i.x = w.v.x
      [] w.c = "any" -> TRUE

Accepted(req) == \A k \in DOMAIN req : Meets(db[k], req[k])
After(req) == [k \in Keys |-> IF k \notin DOMAIN req \/ req[k].c \in {"live", "check"} THEN db[k]
                              ELSE IF req[k].c = "unmark" THEN Doc(req[k].new.ver, db[k].c, "no", 0)
                              ELSE req[k].new]

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
       /\ late' = late \union {[p |-> p, req |-> req]}
       /\ me' = [me EXCEPT ![p] = lost]
       /\ left' = [left EXCEPT !.late = @ - 1]
       /\ UNCHANGED db

Go(p, next) == me' = [me EXCEPT ![p] = next] /\ UNCHANGED <<db, late, left>>

Kind(p) == IF p > 5 THEN run.last ELSE run.cast[p]
Token(p, n) == p * 100 + n

\* What an actor remembers. n: makes versions new; m, r, it: the monolith, the root and the
\* parts as they were read; c: the content that it stages; v, a, took: its claim; flipped: the
\* monolith is marked already; k: the part it is about; tries: how often it began.
Fresh == [pc |-> "start", res |-> "none", n |-> 1, m |-> NoDoc, r |-> NoRoot, it |-> [k \in Parts |-> NoPart], c |-> Nobody,
          v |-> 0, a |-> 0, took |-> {}, flipped |-> FALSE, k |-> 2, tries |-> 0, doubt |-> FALSE, mine |-> {}, d |-> 0,
          again |-> FALSE, alone |-> FALSE,
          mk |-> 0, unsure |-> FALSE,   \* the version of the monolith that it has marked, and whether it may have made the root live
          next |-> [pc |-> "none"],
          claims |-> {}, live |-> 0,    \* the incarnations of its claims, and of those that it has replaced; the one that went live
          gone |-> {}, ends |-> FALSE]  \* the incarnations whose parts it removes, and whether that is its end

Done(res) == [pc |-> "done", res |-> res]
Fail(m) == IF m.doubt THEN "unknown" ELSE "refused"
\* Begins again, a few times.
\* To its end, or to what follows: behind a look for the parts that it leaves.
End(m, next) == IF Tidies /\ m.claims \ {m.live} # {} THEN [m EXCEPT !.pc = "titems", !.next = next] ELSE next
Restart(m) == LET most == IF m.alone THEN 2 ELSE Tries IN
              IF m.tries > most \/ (m.tries = most /\ (m.mk = 0 \/ m.unsure)) THEN End(m, Done(Fail(m)))
              ELSE [Fresh EXCEPT !.alone = m.alone, !.n = m.n + 1, !.tries = m.tries + 1, !.doubt = m.doubt, !.claims = m.claims, !.live = m.live, !.mk = m.mk, !.unsure = m.unsure]
At(m, pc) == [m EXCEPT !.pc = pc, !.n = @ + 1]

\* Where somebody goes on who finds the entity live.
Goal(p, m) == IF Kind(p) \in {"save", "add", "cut"} THEN End(m, [m EXCEPT !.pc = "load", !.k = 2, !.n = @ + 1, !.claims = {}, !.live = 0, !.mk = 0, !.unsure = FALSE]) ELSE IF Kind(p) = "delete" THEN End(m, [Fresh EXCEPT !.n = m.n + 1, !.tries = m.tries, !.doubt = m.doubt])
              ELSE End(m, Done("ok"))

-----------------------------------------------------------------------------
(* To convert: backfill, save, add. *)

ReadMonolith(p) ==
    LET m == me[p] IN
    /\ m.pc = "start" /\ Kind(p) \in {"backfill", "save", "add", "cut"}
    /\ Go(p, [m EXCEPT !.pc = "root", !.m = db[M], !.mk = IF db[M].ver = @ THEN @ ELSE 0])

\* A claim of version v is put in place of the root r.
ToClaim(m, r, doc, flipped) ==
    [m EXCEPT !.pc = "claim", !.r = r, !.m = doc, !.c = doc.c, !.flipped = flipped, !.n = @ + 1, !.a = 0,
              !.took = IF r.st = "migrating" THEN r.took \union {r.a} ELSE {}]

ReadRoot(p) ==
    LET m == me[p]
        r == db[R]
    IN /\ m.pc = "root"
       /\ Go(p, CASE r.st = "live" /\ Unmarked(m.m) /\ Kind(p) = "backfill" -> IF Unmarked(db[M]) THEN End(m, Done(Fail(m))) ELSE Restart(m)
                  [] r.st = "live" -> Goal(p, m)
                  [] r.st = "rolling" -> End(m, Done(Fail(m)))
                  [] r.st = "migrating" /\ m.m.mark = "moved" /\ m.m.x = r.a /\ m.m.chg -> End(m, Done(Fail(m)))
                  [] r.st = "migrating" /\ m.m.mark = "moved" /\ m.m.x = r.a ->
                        [m EXCEPT !.pc = IF OwnMark THEN "adopt" ELSE "live", !.r = r, !.v = r.ver, !.a = r.a, !.took = r.took, !.c = m.m.c, !.n = @ + 1]
                  [] OwnMark /\ r.st = "none" /\ m.m.mark = "moved" /\ m.mk # 0 /\ m.m.ver = m.mk /\ ~m.unsure -> [m EXCEPT !.pc = "takeback", !.n = @ + 1]
                  [] r.st = "migrating" /\ Its(m.m, r) -> ToClaim(m, r, m.m, TRUE)
                  [] r.st = "migrating" /\ ~Unmarked(m.m) -> [m EXCEPT !.pc = "stale", !.r = r]
                  [] r.st = "deleting" /\ ~Unmarked(m.m) -> End(m, Done(Fail(m)))
                  [] r.st = "migrating" /\ Unmarked(m.m) /\ (r.whole = m.m.c \/ (~CompareImported /\ r.whole # Nobody)) ->
                        [m EXCEPT !.pc = "flip", !.v = r.ver, !.a = r.a, !.took = r.took, !.c = m.m.c, !.flipped = FALSE, !.n = @ + 1]
                  [] Unmarked(m.m) -> ToClaim(m, r, m.m, FALSE)
                  [] OTHER -> End(m, Done(IF Kind(p) = "backfill" THEN "ok" ELSE Fail(m))))

\* The parts of claims that are gone are removed, one after the other, each as it was read.
Clears(m, gone, ends) == [m EXCEPT !.pc = "clear", !.k = 2, !.gone = gone, !.ends = ends]
Clear(p) ==
    LET m == me[p]
        k == m.k
        over == IF ~m.ends THEN Restart(m) ELSE End(m, Done(IF Kind(p) \in {"backfill", "delete"} THEN "ok" ELSE Fail(m)))
        next == IF k = 2 THEN [m EXCEPT !.pc = "clear", !.k = 3] ELSE over
    IN \/ m.pc = "clear" /\ Go(p, IF db[k].st # "none" /\ db[k].a \in m.gone THEN [m EXCEPT !.pc = "cleared", !.it[k] = db[k]] ELSE next)
       \/ m.pc = "cleared" /\ Send(p, k :> Write("version", m.it[k].ver, NoPart), next, next, m)

\* A claim that nobody needs: the monolith is read again while it stands.
Stale(p) ==
    LET m == me[p] IN
    /\ m.pc = "stale"
    /\ IF db[M] = m.m
       THEN LET next == Clears(m, IF ClearsStale THEN m.r.took \union {m.r.a} ELSE {}, TRUE)
            IN Send(p, R :> Write("version", m.r.ver, NoRoot), next, Restart(m), Restart(m))
       ELSE Go(p, Restart(m))

ClaimRoot(p) ==
    LET m == me[p]
        ver == Token(p, m.n)
        a == IF ClaimAfresh THEN ver ELSE p
        claimed == [m EXCEPT !.pc = "parts", !.v = ver, !.a = a, !.n = @ + 1, !.k = 2, !.claims = @ \union {a}]
        r == db[R]
        over == IF ClaimStands \/ m.r.ver = 0 THEN Put(m.r.ver, Claim(ver, a, m.took)) ELSE Write("versionOrAbsent", m.r.ver, Claim(ver, a, m.took))
    IN /\ m.pc = "claim"
       /\ Send(p, R :> over,
               claimed,
               IF r.ver \in m.mine /\ r.st = "migrating"
               THEN [claimed EXCEPT !.v = r.ver, !.a = r.a, !.took = r.took, !.claims = @ \union {r.a}]
               ELSE Restart(m),
               [m EXCEPT !.n = @ + 1, !.mine = @ \union {ver}])

\* The parts, one after the other; each attempt is sent once, with a version of its own.
PutPart(p) ==
    LET m == me[p]
        k == m.k
        next == IF k = 2 THEN [m EXCEPT !.k = 3, !.n = @ + 1, !.it[3] = NoPart] ELSE At(m, "flip")
        i == db[k]
    IN /\ m.pc = "parts"
       /\ IF m.c[k] = 0 THEN Go(p, next)
          ELSE Send(p, k :> Put(m.it[k].ver, Part(Token(p, m.n), m.a, m.c[k])),
                    next,
                    IF i.st # "none" /\ i.a = m.a THEN next
                    ELSE [m EXCEPT !.pc = "judge", !.it[k] = i, !.n = @ + 1],
                    IF PutsAfresh THEN ToClaim([m EXCEPT !.mine = {}], Claim(m.v, m.a, m.took), m.m, m.flipped) ELSE [m EXCEPT !.n = @ + 1])

JudgePart(p) ==
    LET m == me[p] IN
    /\ m.pc = "judge"
    /\ Go(p, IF db[R].ver = m.v THEN [m EXCEPT !.pc = "parts"] ELSE Restart(m))

\* The claim is put again, with its incarnation: so that who has put it before cannot make it live any more.
Adopt(p) ==
    LET m == me[p]
        ver == Token(p, m.n)
        mine == [m EXCEPT !.pc = "flip", !.v = ver, !.n = @ + 1, !.flipped = FALSE]
    IN /\ m.pc = "adopt"
       /\ Send(p, R :> Write("version", m.r.ver, [Claim(ver, m.a, m.took) EXCEPT !.whole = m.r.whole]), mine, IF db[R].ver = ver THEN mine ELSE Restart(m), m)

TakeBack(p) ==
    LET m == me[p] IN m.pc = "takeback" /\ Send(p, M :> Unmark(m.m, Token(p, m.n)), Restart([m EXCEPT !.mk = 0]), Restart(m), m)

Flip(p) ==
    LET m == me[p]
        d == db[M]
        ver == IF OwnMark THEN Token(p, m.n) ELSE m.m.ver
        marked == [At(m, "live") EXCEPT !.mk = ver]
    IN /\ m.pc = "flip"
       /\ IF m.flipped /\ ~OwnMark THEN Go(p, At(m, "live"))
          ELSE Send(p, M :> Same(m.m, [m.m EXCEPT !.mark = "moved", !.x = m.a, !.chg = FALSE, !.ver = ver]),
                    marked,
                    CASE OwnMark /\ d.mark = "moved" /\ d.x = m.a /\ d.c # m.c ->
                            ToClaim([m EXCEPT !.mine = {}, !.took = @ \union {m.a}], Claim(m.v, m.a, m.took), d, TRUE)
                      [] d.mark = "moved" /\ d.x = m.a -> IF d.ver = ver THEN marked ELSE IF OwnMark THEN [At(m, "stands") EXCEPT !.m = d] ELSE At(m, "live")
                      [] d.mark = "moved" /\ TookCounts /\ d.x \in m.took ->
                            IF d.c = m.c \/ ~CompareStaged THEN IF OwnMark THEN [At(m, "stands") EXCEPT !.m = d] ELSE At(m, "live")
                            ELSE ToClaim([m EXCEPT !.mine = {}], Claim(m.v, m.a, m.took), d, TRUE)
                      [] Unmarked(d) -> ToClaim([m EXCEPT !.mine = {}], Claim(m.v, m.a, m.took), d, FALSE)
                      [] OTHER -> At(m, "unclaim"),
                    [m EXCEPT !.n = @ + IF OwnMark THEN 0 ELSE 1])

\* Another one has marked the monolith for this claim, or for one that was taken over. If this claim stands, read after the monolith, its mark comes last.
Stands(p) ==
    LET m == me[p] IN m.pc = "stands" /\ Go(p, IF db[R].ver = m.v THEN [m EXCEPT !.pc = "flip"] ELSE Restart(m))

Unclaim(p) ==
    LET m == me[p] IN
    /\ m.pc = "unclaim"
    /\ Send(p, R :> Write("version", m.v, NoRoot), Clears(m, m.took \union {m.a}, FALSE), Restart(m), Restart(m))

GoLive(p) ==
    LET m == me[p]
        r == db[R]
        lives == [m EXCEPT !.live = m.a, !.claims = @ \union m.took]
    IN /\ m.pc = "live"
       /\ Send(p, R :> Write("version", m.v, [NoRoot EXCEPT !.st = "live", !.ver = Token(p, m.n), !.a = m.a, !.val = m.c[1]]),
               Goal(p, lives),
               IF r.st = "live" /\ r.a = m.a THEN Goal(p, lives) ELSE Restart(m),
               [m EXCEPT !.unsure = TRUE])

\* The parts, then the root, and what is of a claim that is gone is removed as it was read. Each part is judged by itself: so that they are read in one step.
Tidy(p) ==
    LET m == me[p]
        r == db[R]
        stands == IF m.r.st = "migrating" THEN m.r.took \union {m.r.a} ELSE {m.r.a}
        i == m.it[m.k]
        next == IF m.k = 2 THEN [m EXCEPT !.k = 3] ELSE m.next
    IN \/ m.pc = "titems" /\ Go(p, [m EXCEPT !.pc = "troot", !.it = [k \in Parts |-> db[k]]])
       \/ m.pc = "troot" /\ Go(p, [m EXCEPT !.pc = "tdel", !.k = 2, !.r = r])
       \/ m.pc = "tdel" /\ IF i.st # "none" /\ i.a \in (m.claims \ {m.live}) \ stands
                            THEN Send(p, m.k :> Write("version", i.ver, NoPart), next, next, m)
                            ELSE Go(p, next)

Convert(p) == Stands(p) \/ Adopt(p) \/ TakeBack(p) \/ Tidy(p) \/ ReadMonolith(p) \/ ReadRoot(p) \/ Stale(p) \/ ClaimRoot(p) \/ PutPart(p) \/ JudgePart(p) \/ Flip(p) \/ Unclaim(p) \/ Clear(p) \/ GoLive(p)

-----------------------------------------------------------------------------
(* A save, and an add, of a collection that is live. *)

\* An item and the root are loaded, in two steps.
LoadOne(p) ==
    LET m == me[p]
        loaded == [m EXCEPT !.it[2] = db[2], !.pc = IF RootAfterItems THEN "loadroot" ELSE "write"]
        asked == [m EXCEPT !.r = db[R], !.pc = IF RootAfterItems THEN "write" ELSE "loaditem"]
        standing == db[R].st = "live"
    IN \/ m.pc = "load" /\ Go(p, IF RootAfterItems THEN loaded ELSE IF standing THEN asked ELSE Restart(m))
       \/ m.pc = "loaditem" /\ Go(p, loaded)
       \/ m.pc = "loadroot" /\ Go(p, IF standing THEN asked ELSE Restart(m))

Update(p) ==
    LET m == me[p]
        i == m.it[2]
        new == [i EXCEPT !.ver = Token(p, m.n), !.val = p]
    IN /\ m.pc = "write" /\ Kind(p) = "save"
       /\ IF ~Belongs(i, m.r) THEN Go(p, Restart(m))
          ELSE Send(p, 2 :> Write("version", i.ver, new), Done("ok"),
                    IF db[2].ver = new.ver THEN Done("ok") ELSE Restart(m),
                    [m EXCEPT !.doubt = TRUE])

Cut(p) ==
    LET m == me[p]
        i == m.it[2]
    IN /\ m.pc = "write" /\ Kind(p) = "cut"
       /\ IF ~Belongs(i, m.r) THEN Go(p, Done("ok"))
          ELSE Send(p, 2 :> Write("version", i.ver, NoPart), Done("ok"), IF db[2].st = "none" THEN Done("ok") ELSE Restart(m), [m EXCEPT !.doubt = TRUE])

Add(p) ==
    LET m == me[p]
        new == Part(Token(p, m.n), m.r.a, p)
        put == 3 :> Put(m.it[3].ver, new)
    IN /\ m.pc = "write" /\ Kind(p) = "add"
       /\ Send(p, IF AddChecksRoot THEN put @@ R :> Check(m.r.a) ELSE put, Done("ok"),
               IF db[3].ver = new.ver THEN Done("ok")
               ELSE IF db[3].st # "none" /\ db[R].st = "live" /\ db[R].a = m.r.a /\ db[3].a # m.r.a
               THEN [m EXCEPT !.it[3] = db[3], !.n = @ + 1]
               ELSE IF db[3].st # "none" /\ db[3].a = m.r.a THEN Done(Fail(m))
               ELSE Restart(m),
               [m EXCEPT !.doubt = TRUE])

-----------------------------------------------------------------------------
(* An insert. *)

InsertBegins(p) ==
    LET m == me[p] IN
    /\ Kind(p) = "insert"
    /\ \/ m.pc = "start" /\ Go(p, IF Unmarked(db[M]) THEN Done("refused") ELSE [m EXCEPT !.pc = "iroot", !.m = db[M]])
       \/ /\ m.pc = "iroot"
          /\ LET r == db[R] IN
             Go(p, IF r.st \in {"live", "rolling"} \/ (r.st = "migrating" /\ Its(m.m, r)) THEN Done("refused")
                   ELSE [m EXCEPT !.pc = "iclaim", !.r = r])

InsertClaims(p) ==
    LET m == me[p]
        ver == Token(p, m.n)
        claimed == [m EXCEPT !.pc = IF InsertReadsAgain THEN "ilook" ELSE "iparts", !.v = ver, !.a = ver, !.n = @ + 1, !.c = <<p, p, 0>>]
    IN /\ m.pc = "iclaim"
       /\ Send(p, R :> Put(m.r.ver, [NoRoot EXCEPT !.st = "inserting", !.ver = ver, !.a = ver]),
               claimed,
               IF db[R].ver \in m.mine THEN [claimed EXCEPT !.v = db[R].ver, !.a = db[R].ver] ELSE Restart(m),
               [m EXCEPT !.n = @ + 1, !.mine = @ \union {ver}])

InsertLooks(p) ==
    LET m == me[p] IN
    /\ m.pc = "ilook"
    /\ IF Unmarked(db[M])
       THEN Send(p, R :> Write("version", m.v, NoRoot), Done("refused"), Done("refused"), Done("refused"))
       ELSE Go(p, [m EXCEPT !.pc = "iparts"])

InsertPart(p) ==
    LET m == me[p]
        i == db[2]
        next == At(m, "ilive")
    IN \/ /\ m.pc = "iparts"
          /\ Send(p, 2 :> Put(m.it[2].ver, Part(Token(p, m.n), m.a, p)), next,
                  IF i.st # "none" /\ i.a = m.a THEN next ELSE [m EXCEPT !.pc = "ijudge", !.it[2] = i, !.n = @ + 1],
                  [m EXCEPT !.n = @ + 1])
       \/ m.pc = "ijudge" /\ Go(p, IF db[R].ver = m.v THEN [m EXCEPT !.pc = "iparts"] ELSE Done("refused"))

InsertLives(p) ==
    LET m == me[p]
        r == db[R]
    IN /\ m.pc = "ilive"
       /\ Send(p, R :> Write("version", m.v, [NoRoot EXCEPT !.st = "live", !.ver = Token(p, m.n), !.a = m.a, !.val = p]),
               Done("ok"), IF r.st = "live" /\ r.a = m.a THEN Done("ok") ELSE Done(Fail(m)), [m EXCEPT !.doubt = TRUE])

Insert(p) == InsertBegins(p) \/ InsertClaims(p) \/ InsertLooks(p) \/ InsertPart(p) \/ InsertLives(p)

-----------------------------------------------------------------------------
(* To remove items under a root that is marked: the end of a delete, and of *)
(* a rollback.  Each is deleted as it was read, if the root, read after it, *)
(* stands.                                                                  *)

Marked(r, m) == r.st \in {"deleting", "rolling"} /\ r.d = m.d

Remove(p) ==
    LET m == me[p]
        k == m.k
        i == m.it[k]
        next == IF k = 2 THEN [m EXCEPT !.pc = "rlook", !.k = 3] ELSE [m EXCEPT !.pc = "rroot"]
        over == IF Kind(p) = "delete" THEN Done("ok") ELSE Restart(m)
        end == IF Kind(p) = "delete" THEN Done("ok") ELSE IF m.again THEN Restart(m) ELSE Done("ok")
    IN \/ m.pc = "rlook" /\ Go(p, [m EXCEPT !.pc = "rcheck", !.it[k] = db[k]])
       \/ m.pc = "rcheck" /\ Go(p, IF ~Marked(db[R], m) THEN over
                                   ELSE IF i.st = "none" THEN next ELSE [m EXCEPT !.pc = "remove"])
       \/ m.pc = "remove" /\ Send(p, k :> Write("version", i.ver, NoPart), next,
                                  IF db[k].st = "none" THEN next ELSE [m EXCEPT !.pc = "rlook"], m)
       \/ m.pc = "rroot" /\ Send(p, R :> Write("version", m.v, NoRoot), end, over, m)

\* A root is marked on the version that was read; next is what follows.
MarkRoot(p, pc, new, next, refused) ==
    LET m == me[p]
        ver == Token(p, m.n)
    IN /\ m.pc = pc
       /\ Send(p, R :> Write("version", m.r.ver, [new EXCEPT !.ver = ver, !.d = ver]),
               [next EXCEPT !.v = ver, !.d = ver, !.n = @ + 1],
               IF db[R].ver = ver THEN [next EXCEPT !.v = ver, !.d = ver, !.n = @ + 1] ELSE refused,
               m)

DeleteBegins(p) ==
    LET m == me[p]
        r == db[R]
        d == db[M]
        Decide(doc, root) ==
            CASE root.st = "migrating" /\ Its(doc, root) -> [m EXCEPT !.pc = "root", !.m = doc]  \* it is moved, and then deleted
              [] root.st = "live" -> [m EXCEPT !.pc = "dmark", !.r = root, !.m = doc]
              [] root.st = "rolling" -> Done("refused")
              [] Unmarked(doc) -> [m EXCEPT !.pc = "dmono", !.m = doc, !.r = root]
              [] root.st \in {"deleting"} -> [m EXCEPT !.pc = "dmark", !.r = root, !.m = doc]
              [] m.again -> Done("ok")
              [] OTHER -> [m EXCEPT !.pc = "start", !.again = TRUE, !.m = d]
    IN /\ Kind(p) = "delete"
       /\ \/ m.pc = "start" /\ Go(p, [m EXCEPT !.pc = "dnext", !.m = d, !.again = @ /\ m.m = d])
          \/ m.pc = "dnext" /\ Go(p, Decide(m.m, r))

DeleteMonolith(p) ==
    LET m == me[p]
        new == [m.m EXCEPT !.mark = "deleted", !.ver = Token(p, m.n), !.x = 0]
        over == IF m.r.st = "migrating" THEN [m EXCEPT !.pc = "fin", !.n = @ + 1] ELSE Done("ok")
    IN /\ m.pc = "dmono"
       /\ Send(p, M :> Same(m.m, new), over, IF db[M].ver = new.ver THEN over ELSE Restart(m), m)

Delete(p) ==
    LET m == me[p] IN
    \/ DeleteBegins(p)
    \/ DeleteMonolith(p)
    \/ Kind(p) = "delete" /\ me[p].pc = "fin" /\ Go(p, IF db[R].st = "migrating" /\ db[M].mark = "deleted" THEN [me[p] EXCEPT !.pc = "stale", !.r = db[R], !.m = db[M]] ELSE Done("ok"))
    \/ Kind(p) = "delete" /\ (Stale(p) \/ Clear(p))
    \/ Kind(p) = "delete" /\ (Remove(p) \/ MarkRoot(p, "dmark", [m.r EXCEPT !.st = "deleting"], [m EXCEPT !.pc = "rlook", !.k = 2], Restart(m)))

-----------------------------------------------------------------------------
(* A rollback. *)

RollBegins(p) ==
    LET m == me[p]
        r == db[R]
    IN /\ Kind(p) = "rollback"
       /\ \/ m.pc = "start" /\ Go(p, [m EXCEPT !.pc = "broot", !.m = db[M]])
          \/ /\ m.pc = "broot"
             /\ Go(p, CASE m.m.chg -> Done("refused")
                        [] r.st = "live" /\ Unmarked(m.m) -> IF Unmarked(db[M]) THEN Done("refused") ELSE Restart(m)
                        [] r.st \in {"live", "migrating", "rolling"} -> [m EXCEPT !.pc = "bmark", !.r = r]
                        [] r.st \in {"deleting", "inserting"} -> [m EXCEPT !.pc = "bend", !.r = r]
                        [] m.m.st = "doc" /\ ~Unmarked(m.m) -> [m EXCEPT !.pc = "bdrop"]
                        [] OTHER -> Done("ok"))

\* Nothing is left of the entity: neither of its monolith.
Drop(p) ==
    LET m == me[p] IN
    m.pc = "bdrop" /\ Send(p, M :> Same(m.m, NoDoc), Done("ok"), Restart(m), Restart(m))

RollMark(p) ==
    LET m == me[p]
        from == IF m.r.st = "rolling" \/ Kind(p) = "keepmono" THEN m.r.from ELSE m.r.st
    IN Kind(p) \in {"rollback", "keepmono"} /\
       (\/ MarkRoot(p, "bmark", [m.r EXCEPT !.st = "rolling", !.from = from],
                    [m EXCEPT !.pc = "bdoc", !.r = [@ EXCEPT !.from = from]], Restart(m))
        \/ MarkRoot(p, "bend", [m.r EXCEPT !.st = "deleting"], [m EXCEPT !.pc = "rlook", !.k = 2, !.again = TRUE], Restart(m)))

\* The monolith, read when the root is marked.
RollRead(p) ==
    LET m == me[p]
        d == db[M]
        gone == [m EXCEPT !.pc = "rlook", !.k = 2, !.m = d]
    IN /\ m.pc = "bdoc"
       /\ Go(p, IF d.chg /\ Kind(p) = "rollback" THEN Done("refused")
                ELSE IF m.r.from = "restored" THEN gone
                ELSE IF m.r.from = "live" THEN IF Unmarked(d) THEN (IF d.ver = Restored(m.r.a) \/ ~RestoredTells THEN [gone EXCEPT !.pc = IF NotesRestore THEN "rnote" ELSE @] ELSE Done("refused")) ELSE [m EXCEPT !.pc = "blook", !.k = 2, !.m = d, !.c = <<m.r.val, 0, 0>>]
                ELSE IF Unmarked(d) /\ ~UnflipAlways THEN gone
                ELSE IF Unmarked(d) \/ Its(d, m.r) \/ (d.chg /\ Kind(p) = "keepmono") THEN [m EXCEPT !.pc = "unflip", !.m = d, !.c = d.c]
                ELSE [gone EXCEPT !.again = TRUE])

RollPart(p) ==
    LET m == me[p]
        k == m.k
        i == db[k]
        next == IF k = 2 THEN [m EXCEPT !.pc = "blook", !.k = 3, !.n = @ + 1] ELSE At(m, "unflip")
        copied == [next EXCEPT !.c[k] = IF Belongs(m.it[k], m.r) THEN m.it[k].val ELSE 0]
        ver == Token(p, m.n)
    IN \/ m.pc = "blook" /\ Go(p, [m EXCEPT !.pc = "freeze", !.it[k] = i])
       \/ /\ m.pc = "freeze"
          /\ IF ~Freeze \/ ~Belongs(m.it[k], m.r) THEN Go(p, copied)
             ELSE Send(p, k :> Write("version", m.it[k].ver, [m.it[k] EXCEPT !.ver = ver]), copied,
                       IF i.ver = ver THEN copied ELSE [m EXCEPT !.pc = "blook", !.n = @ + 1], m)

Unflip(p) ==
    LET m == me[p]
        live == m.r.from = "live"
        ver == IF live THEN Restored(m.r.a) ELSE IF UnflipNewVersion THEN Token(p, m.n) ELSE m.m.ver
        root == R :> CheckVersion(m.v)
        w == IF ~live THEN M :> Unmark(m.m, ver)
             ELSE IF m.m.st = "none" THEN M :> Put(0, Doc(ver, m.c, "no", 0)) @@ root
             ELSE M :> Same(m.m, Doc(ver, m.c, "no", 0))
        next == [m EXCEPT !.pc = IF live /\ NotesRestore THEN "rnote" ELSE "rlook", !.k = 2, !.n = @ + 1]
    IN /\ m.pc = "unflip"
       /\ Send(p, w, next, Restart(m), Restart(m))

\* From then on the monolith is the truth, also if somebody deletes it.
NoteRestore(p) ==
    LET m == me[p]
        ver == Token(p, m.n)
        noted == [m EXCEPT !.pc = "rlook", !.k = 2, !.v = ver, !.n = @ + 1]
    IN /\ m.pc = "rnote"
       /\ Send(p, R :> Write("version", m.v, [m.r EXCEPT !.st = "rolling", !.from = "restored", !.ver = ver, !.d = m.d]), noted,
               IF db[R].ver = ver THEN noted ELSE Restart(m), m)

Rollback(p) == NoteRestore(p) \/ RollBegins(p) \/ Drop(p) \/ RollMark(p) \/ RollRead(p) \/ RollPart(p) \/ Unflip(p) \/ (Kind(p) \in {"rollback", "keepmono"} /\ Remove(p))

-----------------------------------------------------------------------------
(* A writer in the old layout, who knows the new one. *)

Old(p) ==
    LET m == me[p]
        new == [m.m EXCEPT !.c[2] = IF Kind(p) = "old" THEN p ELSE 0, !.ver = Token(p, m.n)]
    IN /\ Kind(p) \in {"old", "trim"}
       /\ \/ m.pc = "start" /\ Go(p, IF Unmarked(db[M]) THEN [m EXCEPT !.pc = "write", !.m = db[M]] ELSE Done("refused"))
          \/ m.pc = "write" /\ Send(p, M :> Same(m.m, new), Done("ok"), IF db[M].ver = new.ver THEN Done("ok") ELSE Done(Fail(m)),
                                    [m EXCEPT !.doubt = TRUE])

-----------------------------------------------------------------------------
(* A program that knows only the old layout, and compares nothing; and who   *)
(* decides then which layout stays.                                         *)

Foreign(p) ==
    LET m == me[p] IN
    \/ /\ Kind(p) = "put"
       /\ \/ m.pc = "start" /\ Go(p, IF Unmarked(db[M]) THEN [m EXCEPT !.pc = "write", !.m = db[M]] ELSE Done("refused"))
          \/ m.pc = "write" /\ Send(p, M :> Write("any", 0, [m.m EXCEPT !.c[2] = p]), Done("ok"), m, Done("ok"))
    \/ /\ Kind(p) = "twice"
       /\ \/ m.pc = "start" /\ IF Unmarked(db[M]) THEN Send(p, M :> Write("any", 0, NoDoc), [m EXCEPT !.pc = "write", !.m = db[M]], m, m) ELSE Go(p, Done("refused"))
          \/ m.pc = "write" /\ Send(p, M :> Write("any", 0, m.m), Done("ok"), m, Done("ok"))
    \/ /\ Kind(p) = "erase" /\ m.pc = "start"
       /\ IF ~Unmarked(db[M]) THEN Go(p, Done("refused")) ELSE Send(p, M :> Write("any", 0, NoDoc), Done("ok"), m, Done("ok"))
    \/ /\ Kind(p) = "upd" /\ m.pc = "start"
       /\ IF db[M].st = "none" THEN Go(p, Done("refused"))
          ELSE Send(p, M :> Write("any", 0, [db[M] EXCEPT !.c[2] = p, !.chg = db[M].mark # "no"]), Done("ok"), m, Done("ok"))

InBoth(d) == Unmarked(d) \/ d.chg

KeepCollection(p) ==
    LET m == me[p]
        r == db[R]
        Marks(root) == [m EXCEPT !.pc = "kmark", !.r = root]
    IN /\ Kind(p) = "keepcoll"
       /\ \/ m.pc = "start" /\ Go(p, [m EXCEPT !.pc = "kroot", !.m = db[M]])
          \/ m.pc = "kroot" /\ Go(p, CASE m.m.chg /\ r.st = "none" -> Marks([r EXCEPT !.a = m.m.x])
                                       [] m.m.chg /\ r.st = "rolling" /\ r.from = "live" -> Marks(r)
                                       [] r.st # "live" \/ ~InBoth(m.m) -> Done("refused")
                                       [] OTHER -> Marks(r))
          \/ m.pc = "kmark" /\ Send(p, M :> Same(m.m, [m.m EXCEPT !.mark = "moved", !.x = m.r.a, !.chg = FALSE, !.ver = Token(p, m.n)]),
                                    Done("ok"), Restart(m), Restart(m))

\* As a rollback of an entity that was never live.
KeepMonolith(p) ==
    LET m == me[p]
        r == db[R]
        took == IF SettleTakesMark /\ m.m.mark = "moved" /\ ~Its(m.m, r) THEN r.took \union {m.m.x} ELSE r.took
    IN /\ Kind(p) = "keepmono"
       /\ \/ m.pc = "start" /\ Go(p, [m EXCEPT !.pc = "mroot", !.m = db[M]])
          \/ m.pc = "mroot" /\ Go(p, CASE m.m.chg /\ r.st = "none" -> [m EXCEPT !.pc = "munmark"]
                                       [] (r.st \in {"rolling", "live"} /\ InBoth(m.m)) \/ (SettlesClaims /\ r.st = "migrating" /\ m.m.chg) ->
                                             [m EXCEPT !.pc = "bmark", !.r = [r EXCEPT !.took = took, !.from = "migrating"]]
                                       [] m.tries > 0 /\ r.st = "none" /\ Unmarked(m.m) -> Done("ok")
                                       [] OTHER -> Done("refused"))
          \/ m.pc = "munmark" /\ Send(p, M :> Unmark(m.m, Token(p, m.n)), Done("ok"), Restart(m), Restart(m))

-----------------------------------------------------------------------------
(* A reader: the root, the parts, the root, the monolith. *)

Got(m, c) ==
    LET Some(i) == \E s \in seen : s[i] = c[i] IN
    Done(IF c = Nobody THEN (IF Nobody \in seen THEN "ok" ELSE "lost")
         ELSE IF Some(1) /\ Some(2) /\ Some(3) THEN "ok" ELSE "torn")

Read(p) ==
    LET m == me[p]
        r == db[R]
        d == db[M]
        items == <<m.r.val, IF Belongs(m.it[2], m.r) THEN m.it[2].val ELSE 0, IF Belongs(m.it[3], m.r) THEN m.it[3].val ELSE 0>>
        more == [m EXCEPT !.pc = "start", !.tries = 1, !.m = d, !.again = TRUE]
    IN /\ Kind(p) = "reader"
       /\ \/ m.pc = "start" /\ Go(p, [m EXCEPT !.pc = "p2", !.r = r])
          \/ m.pc = "p2" /\ Go(p, [m EXCEPT !.pc = "p3", !.it[2] = db[2]])
          \/ m.pc = "p3" /\ Go(p, [m EXCEPT !.pc = "last", !.it[3] = db[3]])
          \/ m.pc = "last" /\ Go(p, IF r.a # m.r.a \/ r.st # m.r.st \/ r.d # m.r.d \/ r.from # m.r.from THEN [m EXCEPT !.pc = "start", !.again = FALSE]
                                    ELSE IF r.st = "live" THEN Got(m, items)
                                    ELSE [m EXCEPT !.pc = "doc"])
          \/ m.pc = "doc" /\ Go(p, IF Unmarked(d) \/ (m.r.st = "migrating" /\ Its(d, m.r)) THEN Got(m, d.c)
                                   ELSE IF m.r.st = "rolling" /\ m.r.from = "live" THEN Got(m, items)
                                   ELSE IF m.r.st = "rolling" /\ Its(d, m.r) THEN Got(m, d.c)
                                   ELSE IF m.again /\ d = m.m THEN Got(m, Nobody)
                                   ELSE more)

-----------------------------------------------------------------------------

\* Whether there are programs that know only the old layout, and compare nothing.
Foreigners == {"put", "upd", "twice", "erase"} \cap Kinds # {}

\* What a step of p may do to what can be seen.
Legal(p, before, after) ==
    \/ after = before
    \/ Kind(p) \in {"save", "old"} /\ before # Nobody /\ after = [before EXCEPT ![2] = p]
    \/ Kind(p) \in {"trim", "cut"} /\ before # Nobody /\ after = [before EXCEPT ![2] = 0]
    \/ Kind(p) = "add" /\ before # Nobody /\ after = [before EXCEPT ![3] = p]
    \/ Kind(p) \in {"delete", "erase"} /\ after = Nobody
    \/ Kind(p) \in {"put", "upd", "twice"}
    \/ Kind(p) = "keepmono" /\ after = db[M].c
    \/ Kind(p) = "keepcoll" /\ after = Items(db)
    \/ Kind(p) = "backfill" /\ Foreigners /\ InBoth(db[M]) /\ after = Items(db')  \* goes live as it was marked: both are kept, and somebody decides
    \/ Kind(p) = "rollback" /\ db'[R].from = "restored" /\ db[M].st = "none" /\ after = Nobody  \* of a monolith that was written, and deleted before that was noted
    \/ Kind(p) = "insert" /\ before = Nobody /\ after = <<p, p, 0>>

\* What a program that knows only the old layout has written stays, and so does what is acknowledged in a collection, until a rollback has written
\* its monolith, or somebody decides.
Keeps(p) ==
    /\ Kind(p) \notin {"put", "upd", "twice", "erase", "old", "trim", "delete"} /\ db[M].st = "doc" /\ InBoth(db[M]) => db'[M].c = db[M].c
    /\ (db[R].st = "live" \/ (db[R].st = "rolling" /\ db[R].from = "live")) /\ db[R].a \notin back /\ Kind(p) \notin {"delete", "cut", "keepmono"} =>
        /\ db'[R].a = db[R].a
        /\ \A k \in Parts : Belongs(db[k], db[R]) => Belongs(db'[k], db'[R])

Remember(p) ==
    LET before == View(db)
        after == View(db')
    IN /\ did' = IF after # before \/ (Kind(p) = "delete" /\ (before = Nobody \/ after = Nobody)) THEN did \union {p} ELSE did
       /\ seen' = {View(db')} \union IF \E q \in DOMAIN me : Kind(q) = "reader" /\ me[q].pc = "start" /\ me[q].tries = 0 THEN {} ELSE seen
       /\ back' = IF db'[M].ver > 1000 THEN back \union {db'[M].ver - 1000} ELSE back
       /\ bad' = IF Legal(p, before, after) /\ Keeps(p) THEN bad ELSE bad \union {<<Kind(p), before, after>>}

Step(p) ==
    /\ me[p].pc # "done"
    /\ \/ Convert(p)
       \/ Kind(p) = "save" /\ (LoadOne(p) \/ Update(p))
       \/ Kind(p) = "add" /\ (LoadOne(p) \/ Add(p))
       \/ Kind(p) = "cut" /\ (LoadOne(p) \/ Cut(p))
       \/ Insert(p) \/ Delete(p) \/ Rollback(p) \/ Old(p) \/ Read(p) \/ Foreign(p) \/ KeepCollection(p) \/ KeepMonolith(p)

Tracked(p) == Remember(p) /\ UNCHANGED run

Crash(p) ==
    /\ me[p].pc \notin {"start", "done"} /\ left.crash > 0 /\ Kind(p) # "reader"
    /\ me' = [me EXCEPT ![p] = Done("crashed")]
    /\ left' = [left EXCEPT !.crash = @ - 1]
    /\ UNCHANGED <<db, late>>

Arrive(l) ==
    /\ Accepted(l.req) /\ db' = After(l.req) /\ late' = late \ {l} /\ UNCHANGED <<left, me>>

\* When all have stopped one more runs alone.
Finish ==
    /\ \A p \in DOMAIN me : p < 6 /\ me[p].pc = "done"
    /\ me' = 6 :> [Fresh EXCEPT !.alone = TRUE]
    /\ late' = {} /\ left' = [lost |-> 0, late |-> 0, crash |-> 0]
    /\ UNCHANGED <<db, run, seen, did, back, bad>>

Casts == LET ks == {i \in 1 .. Len(AllKinds) : AllKinds[i] \in Kinds}
             ordered == {c \in [1 .. NActors -> ks] : \A i, j \in 1 .. NActors : i < j => c[i] <= c[j]}
         IN {[i \in 1 .. NActors |-> AllKinds[c[i]]] :
                c \in {c \in ordered : Cardinality({i \in 1 .. NActors : AllKinds[c[i]] = "reader"}) <= 1}}

\* In place of Casts, for a counterexample of these three.
BackfillsAndOld == {<<"backfill", "backfill", "old">>}

Init ==
    /\ run \in [cast : Casts, start : Starts, last : Lasts]
    /\ db = Stored(run.start)
    /\ late = {} /\ left = [lost |-> MaxLost, late |-> MaxLate, crash |-> MaxCrash]
    /\ me = [p \in 1 .. NActors |-> Fresh]
    /\ seen = {} /\ did = {} /\ back = {} /\ bad = {}

Next == \/ Finish
        \/ \E p \in DOMAIN me : Step(p) /\ Tracked(p)
        \/ \E p \in DOMAIN me : Crash(p) /\ UNCHANGED <<run, seen, did, back, bad>>
        \/ \E l \in late : Arrive(l) /\ Tracked(l.p)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Invariants. *)

\* Nobody changes what can be seen but as he may.
NothingElse == bad = {}
\* What was acknowledged could be seen. A save may change what a delete is about to remove.
Acknowledged == \A p \in DOMAIN me : me[p].res = "ok" /\ Kind(p) \in {"save", "old", "add", "insert", "delete"} =>
    p \in did \/ (Kind(p) = "save" /\ \E q \in did : Kind(q) = "delete")
\* A reader returns what was there while he read.
ReadersSeeWhole == \A p \in DOMAIN me : me[p].res \notin {"torn", "lost"}
\* A monolith and a collection never stand side by side.
OneOfBoth == ~Foreigners /\ {"both", "changed"} \cap Starts = {} => ~(db[R].st = "live" /\ Unmarked(db[M]))
\* Somebody has to decide which layout stays.
Contradiction(s) == s[M].chg \/ (Unmarked(s[M]) /\ (s[R].st = "live" \/ (s[R].st = "rolling" /\ s[R].from = "live" /\ s[M].ver # Restored(s[R].a))))
\* From wherever things stand, one actor alone comes to the end.
AloneSucceeds == \A p \in DOMAIN me : p = 6 /\ me[p].pc = "done" /\ run.last \in {"backfill", "rollback"} /\ ~Contradiction(db) =>
    /\ me[p].res = "ok" \/ (run.last = "backfill" /\ db[R].st \in {"rolling", "deleting"})
    /\ IF run.last = "backfill" THEN (View(db) # Nobody => db[R].st \in {"live", "rolling"})
       ELSE db[R].st = "none" /\ (db[M].st = "none" \/ Unmarked(db[M]))
\* Whoever decides alone is heard: then a rollback, or a run, comes to the end.
Settled == \A p \in DOMAIN me : p = 6 /\ me[p].pc = "done" =>
    CASE run.last = "keepmono" -> ~Contradiction(db) /\ (me[p].res = "ok" => db[R].st = "none" /\ Unmarked(db[M]))
      [] run.last = "keepcoll" -> me[p].res = "ok" => ~Contradiction(db)
      [] OTHER -> TRUE
\* What a program that knows only the old layout has inserted is found in the end, if nobody has deleted it since.
VoidMarksGoBack == 6 \in DOMAIN me /\ me[6].pc = "done" /\ db[R].st = "none" => db[M].mark # "moved"
\* No part of a claim is left without it, when all have ended and nothing was lost, late, or crashed. (An
\* insert is one transaction in the code.)
NothingLeft == MaxLost + MaxLate + MaxCrash = 0 /\ 6 \in DOMAIN me /\ me[6].pc = "done" /\ ~(\E p \in DOMAIN run.cast : run.cast[p] = "rollback") =>
    \A k \in Parts : db[k].st # "none" /\ db[k].a # 80 /\ ~(db[k].a \div 100 \in DOMAIN run.cast /\ run.cast[db[k].a \div 100] = "insert")
        => db[k].a = db[R].a
=============================================================================
