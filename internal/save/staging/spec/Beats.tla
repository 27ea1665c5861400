------------------------------- MODULE Beats --------------------------------
(* A owns the lease of a shard, and increments a counter. B watches it: when  *)
(* the counter has not grown for long, B takes the lease. A lives, and its    *)
(* requests are slow, fail, or have no answer. A says in its counter that it  *)
(* is away, for any reason, also while its handlers run.                      *)
(*   B handles no record while A is handling one. A stops its handlers at the *)
(* end of its failover time without a beat: no timer is late here.            *)
EXTENDS Integers

CONSTANTS FailoverA, FailoverB, MaxTime, MaxBeats, MaxTakes,
          LongerTime,       \* B waits for the longer failover time of both
          Strong,           \* B reads the counter strongly consistent
          LeasesFirst,      \* B reads the lease before the counter
          AfterAnswer,      \* the silence begins after the answer that showed the last beat
          BeforeRequest,    \* and ends before the request whose answer shows no other
          AbsenceHasBegin,  \* a counter that says away says since which beat
          AwayIsNoBeat,     \* a beat that says away does not prolong A's time
          DeletesRead       \* B deletes a counter on the version that it has read

VARIABLES now, counter, before, top, version,
          beaten, handles, beat, take,  \* of A
          seen, watched, read, free, deletes, taken, takes   \* of B

a == <<beaten, handles, beat, take>>
b == <<seen, watched, read, free, deletes, taken>>
vars == <<now, counter, before, top, version, a, b, takes>>

NoBeat == [state |-> "none", begun |-> 0, away |-> FALSE]
NoTake == [state |-> "none", version |-> 0, fenced |-> FALSE]
NoRead == [state |-> "none", begun |-> 0, answer |-> [beat |-> 0, away |-> 0]]
NoKey == [kind |-> "nothing", n |-> 0]

Max(x, y) == IF x > y THEN x ELSE y

Init ==
  /\ now = 0
  /\ counter = [beat |-> 1, away |-> 0]   \* beat 0: there is none. Away is since which beat, 0 for none
  /\ before = counter                     \* an old answer
  /\ top = 1
  /\ version = 1
  /\ beaten = 0
  /\ handles \in BOOLEAN
  /\ beat = NoBeat
  /\ take = NoTake
  /\ seen = 0
  /\ watched = [key |-> NoKey, at |-> 0]
  /\ read = NoRead
  /\ free = FALSE
  /\ deletes = FALSE
  /\ taken = FALSE
  /\ takes = 0

Late == now - beaten >= FailoverA

(* A timer stops the handlers of A in time. *)
Tick ==
  /\ now < MaxTime
  /\ ~(Late /\ (handles \/ (take.state # "none" /\ ~take.fenced)))
  /\ now' = now + 1
  /\ UNCHANGED <<counter, before, top, version, a, b, takes>>

Fence ==
  /\ Late
  /\ handles \/ (take.state # "none" /\ ~take.fenced)
  /\ handles' = FALSE
  /\ take' = [take EXCEPT !.fenced = take.state # "none"]
  /\ UNCHANGED <<now, counter, before, top, version, beaten, beat, b, takes>>

BeatSend(away) ==
  /\ beat.state = "none"
  /\ top < MaxBeats
  /\ beat' = [state |-> "sent", begun |-> now, away |-> away]
  /\ UNCHANGED <<now, counter, before, top, version, beaten, handles, take, b, takes>>

(* If the counter was deleted, the beat fails, and the next one is a new counter. *)
BeatArrives ==
  /\ beat.state = "sent"
  /\ top' = top + 1
  /\ before' = IF Strong THEN before ELSE counter
  /\ counter' = [beat |-> top + 1,
                 away |-> IF ~beat.away THEN 0 ELSE IF counter.away > 0 THEN counter.away ELSE top + 1]
  /\ beat' = [beat EXCEPT !.state = "arrived"]
  /\ UNCHANGED <<now, version, beaten, handles, take, b, takes>>

BeatFails ==
  /\ beat.state # "none"
  /\ beat' = NoBeat
  /\ UNCHANGED <<now, counter, before, top, version, beaten, handles, take, b, takes>>

BeatAnswer ==
  /\ beat.state = "arrived"
  /\ beat' = NoBeat
  /\ beaten' = IF beat.away /\ AwayIsNoBeat THEN beaten ELSE beat.begun
  /\ UNCHANGED <<now, counter, before, top, version, handles, take, b, takes>>

TakeSend ==
  /\ take.state = "none"
  /\ ~handles
  /\ ~taken
  /\ takes < MaxTakes
  /\ takes' = takes + 1
  /\ ~Late
  /\ take' = [state |-> "sent", version |-> version, fenced |-> FALSE]
  /\ UNCHANGED <<now, counter, before, top, version, beaten, handles, beat, b>>

TakeArrives ==
  /\ take.state = "sent"
  /\ take.version = version
  /\ version' = version + 1
  /\ take' = [take EXCEPT !.state = "arrived"]
  /\ UNCHANGED <<now, counter, before, top, beaten, handles, beat, b, takes>>

TakeEnds ==
  /\ take.state # "none"
  /\ handles' = (take.state = "arrived" /\ ~take.fenced /\ ~Late)
  /\ take' = NoTake
  /\ UNCHANGED <<now, counter, before, top, version, beaten, beat, b, takes>>

ReadLease ==
  /\ IF LeasesFirst THEN read.state = "none" ELSE TRUE
  /\ seen # version \/ free
  /\ seen' = version
  /\ free' = (free /\ ~LeasesFirst)
  /\ UNCHANGED <<now, counter, before, top, version, a, watched, read, deletes, taken, takes>>

ReadSend ==
  /\ read.state = "none"
  /\ read' = [NoRead EXCEPT !.state = "sent", !.begun = now]
  /\ free' = FALSE
  /\ deletes' = FALSE
  /\ UNCHANGED <<now, counter, before, top, version, a, seen, watched, taken, takes>>

ReadArrives ==
  /\ read.state = "sent"
  /\ \E answer \in {counter} \cup (IF Strong THEN {} ELSE {before}) :
       read' = [read EXCEPT !.state = "arrived", !.answer = answer]
  /\ UNCHANGED <<now, counter, before, top, version, a, seen, watched, free, deletes, taken, takes>>

Key(c) ==
  IF c.beat = 0 THEN [kind |-> "none", n |-> 0]
  ELSE IF c.away > 0 THEN [kind |-> "away", n |-> IF AbsenceHasBegin THEN c.away ELSE 0]
  ELSE [kind |-> "beat", n |-> c.beat]

Patience(c) ==
  IF ~LongerTime \/ c.beat = 0 THEN FailoverB ELSE Max(FailoverA, FailoverB)

ReadAnswer ==
  /\ read.state = "arrived"
  /\ LET key == Key(read.answer)
         at == IF key = watched.key THEN watched.at ELSE IF AfterAnswer THEN now ELSE read.begun
         silent == (IF BeforeRequest THEN read.begun ELSE now) - at
     IN /\ watched' = [key |-> key, at |-> at]
        /\ free' = (silent > Patience(read.answer))
        /\ deletes' = (silent > Patience(read.answer) /\ read.answer.beat > 0)   \* in fact after a longer time
  /\ read' = IF deletes' THEN [read EXCEPT !.state = "none"] ELSE NoRead
  /\ UNCHANGED <<now, counter, before, top, version, a, seen, taken, takes>>

Delete ==
  /\ deletes
  /\ counter.beat > 0
  /\ DeletesRead => counter = read.answer
  /\ before' = IF Strong THEN before ELSE counter
  /\ counter' = [beat |-> 0, away |-> 0]
  /\ deletes' = FALSE
  /\ UNCHANGED <<now, top, version, a, seen, watched, read, free, taken, takes>>

TakeB ==
  /\ free
  /\ seen = version
  /\ ~taken
  /\ taken' = TRUE
  /\ version' = version + 1
  /\ UNCHANGED <<now, counter, before, top, a, seen, watched, read, free, deletes, takes>>

Next ==
  \/ Tick \/ Fence
  \/ \E away \in BOOLEAN : BeatSend(away)
  \/ BeatArrives \/ BeatFails \/ BeatAnswer
  \/ TakeSend \/ TakeArrives \/ TakeEnds
  \/ ReadLease \/ ReadSend \/ ReadArrives \/ ReadAnswer \/ Delete \/ TakeB

Spec == Init /\ [][Next]_vars

(* Two workers do not handle records of a shard at the same time. *)
OneHandles == ~(taken /\ handles)
=============================================================================
