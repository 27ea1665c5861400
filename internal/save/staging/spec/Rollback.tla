------------------------------ MODULE Rollback ------------------------------
(***************************************************************************)
(* A table is rolled back while an application inserts entities as         *)
(* collections, and moves those that it updates.  The rollback finds them  *)
(* by a scan.  When it has ended, there is no collection left.  What       *)
(* becomes of one entity is in Migration.tla; here a step of an entity is  *)
(* one step.  README.md says what each action is in the code.              *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
    Inserters, Movers, Rollbacks,  \* how many of each
    Tries,                 \* how often each inserter inserts
    \* The clauses. Each is TRUE; README.md says what goes wrong without it.
    InsertChecksPhase,     \* an insert requires, in its transaction, that a migration is under way
    MoveChecksPhase,       \* a move reads after its claim, and before it marks the monolith, that a migration is under way
    ClaimFirst,            \* it reads that after the claim, and not before
    ScansAtTheEnd,         \* a rollback scans once more while nobody inserts
    OwnEnd,                \* it ends only the end that it has begun itself
    SameRound,             \* who begins a migration requires that none has begun and ended since it looked at the table of collections
    RepeatBegins           \* a rollback that is repeated begins a migration first, like an insert

VARIABLES
    phase,  \* none, running, back, or ending; done after the contract
    had,    \* the note of the migration says that the table held collections before it: a rollback leaves those without a monolith
    round,  \* how many migrations have begun
    by,     \* who has begun the end
    col,    \* entities that are collections
    mono,   \* entities that are monoliths
    claims, \* monoliths that somebody has claimed to move them
    me

vars == <<phase, had, round, by, col, mono, claims, me>>

Is == 1 .. Inserters
Ms == Inserters + 1 .. Inserters + Movers
Entities == Is \union Ms \* each of the one who inserts it, or moves it
Last == Inserters + Movers
Rs == Last + 1 .. Last + Rollbacks
Underway == {"running", "back"}

Init ==
    /\ phase = "running" /\ had = FALSE /\ round = 0 /\ by = 0 /\ col = {} /\ mono = Ms /\ claims = {}
    /\ me = [p \in Entities \union Rs |-> IF p \in Entities THEN [pc |-> "start", n |-> 0] ELSE [pc |-> "start", at |-> 1]]

Go(p, next) == me' = [me EXCEPT ![p] = next]

-----------------------------------------------------------------------------
(* An insert.  It reads the phase, begins a migration if there is none, and *)
(* writes its entity.  That may be a monolith by now: then the next one is  *)
(* of another key, which is the same to the rollback.                       *)

Look(p) ==
    /\ me[p].pc = "start" /\ me[p].n < Tries
    /\ Go(p, CASE phase = "none" -> [pc |-> "table", n |-> me[p].n, seen |-> round]
               [] phase \in Underway -> [me[p] EXCEPT !.pc = IF p \in Is THEN "send" ELSE "claim"]
               [] OTHER -> [me[p] EXCEPT !.n = @ + 1]) \* refused: it is tried again later
    /\ UNCHANGED <<phase, had, round, by, col, mono, claims>>

\* Whoever begins a migration notes whether the table holds collections, which are none of its own.
Table(p) ==
    /\ me[p].pc = "table"
    /\ Go(p, [pc |-> "begin", n |-> me[p].n, seen |-> me[p].seen, saw |-> col # {}])
    /\ UNCHANGED <<phase, had, round, by, col, mono, claims>>

Begin(p) ==
    /\ me[p].pc = "begin"
    /\ IF phase = "none" /\ (SameRound => round = me[p].seen)
       THEN phase' = "running" /\ had' = me[p].saw /\ round' = round + 1
       ELSE UNCHANGED <<phase, had, round>>
    /\ Go(p, IF p \in Rs THEN [pc |-> "start", at |-> 1] ELSE [pc |-> "start", n |-> me[p].n])
    /\ UNCHANGED <<by, col, mono, claims>>

Insert(p) ==
    /\ me[p].pc = "send"
    /\ IF InsertChecksPhase /\ phase \notin Underway
       THEN Go(p, [me[p] EXCEPT !.pc = "start", !.n = @ + 1]) /\ UNCHANGED <<col, mono>>
       ELSE /\ col' = col \union {p}
            /\ mono' = mono \ {p}
            /\ Go(p, [me[p] EXCEPT !.pc = "start", !.n = @ + 1])
    /\ UNCHANGED <<phase, had, round, by, claims>>

-----------------------------------------------------------------------------
(* A move of a monolith, for an update or by a run. *)

Claim(p) ==
    /\ me[p].pc = "claim"
    /\ IF p \in mono THEN claims' = claims \union {p} /\ Go(p, [me[p] EXCEPT !.pc = IF MoveChecksPhase /\ ClaimFirst THEN "check" ELSE "flip"])
       ELSE UNCHANGED claims /\ Go(p, [me[p] EXCEPT !.pc = "start", !.n = @ + 1])
    /\ UNCHANGED <<phase, had, round, by, col, mono>>

Check(p) ==
    /\ me[p].pc = "check"
    /\ IF phase \in Underway THEN UNCHANGED claims /\ Go(p, [me[p] EXCEPT !.pc = "flip"])
       ELSE claims' = claims \ {p} /\ Go(p, [me[p] EXCEPT !.pc = "start", !.n = @ + 1])
    /\ UNCHANGED <<phase, had, round, by, col, mono>>

\* A rollback has removed the claim, and given the monolith a new version: then the mark is refused.
Flip(p) ==
    /\ me[p].pc = "flip"
    /\ IF p \in claims THEN col' = col \union {p} /\ mono' = mono \ {p} ELSE UNCHANGED <<col, mono>>
    /\ claims' = claims \ {p}
    /\ Go(p, [me[p] EXCEPT !.pc = "start", !.n = @ + 1])
    /\ UNCHANGED <<phase, had, round, by>>

-----------------------------------------------------------------------------
(* A rollback.  One that died is gone on with by another, and may not be   *)
(* dead: so there may be two.                                              *)

Enter(p) ==
    /\ me[p].pc = "start" /\ (phase = "none" => ~RepeatBegins)
    /\ phase' = "back"
    /\ had' = (had \/ phase = "none") \* without a note nobody knows
    /\ Go(p, [pc |-> "scan", at |-> 1])
    /\ UNCHANGED <<round, by, col, mono, claims>>

Repeat(p) ==
    /\ me[p].pc = "start" /\ phase = "none" /\ RepeatBegins /\ round = 0
    /\ Go(p, [pc |-> "table", n |-> 0, seen |-> round])
    /\ UNCHANGED <<phase, had, round, by, col, mono, claims>>

Scan(p) ==
    LET m == me[p]
        last == m.at = Last
        next == CASE ~last -> [m EXCEPT !.at = @ + 1]
                  [] m.pc = "scan" /\ ScansAtTheEnd -> [pc |-> "end", at |-> 1]
                  [] OTHER -> [pc |-> "leave", at |-> 1]
    IN /\ m.pc \in {"scan", "again"}
       /\ LET left == had /\ m.at \in Is \* it has no monolith
          IN /\ col' = IF left THEN col ELSE col \ {m.at}
             /\ mono' = IF m.at \in col /\ ~left THEN mono \union {m.at} ELSE mono
       /\ claims' = claims \ {m.at}
       /\ Go(p, next)
       /\ UNCHANGED <<phase, had, round, by>>

End(p) ==
    /\ me[p].pc = "end"
    /\ IF phase \in {"back", "ending"}
       THEN phase' = "ending" /\ by' = p /\ Go(p, [pc |-> "again", at |-> 1])
       ELSE UNCHANGED <<phase, by>> /\ Go(p, [pc |-> "failed"])
    /\ UNCHANGED <<had, round, col, mono, claims>>

Leave(p) ==
    /\ me[p].pc = "leave"
    /\ IF (IF ScansAtTheEnd THEN phase = "ending" /\ (OwnEnd => by = p) ELSE phase = "back")
       THEN phase' = "none" /\ by' = 0 /\ Go(p, [pc |-> "left"])
       ELSE UNCHANGED <<phase, by>> /\ Go(p, [pc |-> "failed"])
    /\ UNCHANGED <<had, round, col, mono, claims>>

Next == \E p \in DOMAIN me : (p \in Entities /\ (Look(p) \/ Table(p) \/ Begin(p) \/ Insert(p) \/ Claim(p) \/ Check(p) \/ Flip(p))) \/ (p \in Rs /\ (Repeat(p) \/ Table(p) \/ Begin(p) \/ Enter(p) \/ Scan(p) \/ End(p) \/ Leave(p)))

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

\* While no migration is under way, no collection is without its monolith: the table of collections may be dropped.
NothingLeft == phase = "none" => col = {}
=============================================================================
