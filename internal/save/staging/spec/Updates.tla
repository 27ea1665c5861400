------------------------------ MODULE Updates ------------------------------
(* Updates of several entities at once (mapper.UpdateAll), and other writers. *)
(* Two items of two entities have amounts, 0 is a missing item, which has no  *)
(* version. An update reads both in one transaction, or one after the other,  *)
(* and then again until nothing has changed. Then it calls its function,      *)
(* which changes one item, or ends the update with an error or without a      *)
(* change. The function must not see amounts that did not exist at one        *)
(* moment. If the update reads twice, an item that was added and deleted      *)
(* again in the meantime may be missing. No write may be lost: what the       *)
(* update writes is unchanged since it was read.                              *)
EXTENDS Integers, FiniteSets

CONSTANTS Actors, Total, Steps,
          Transactional, \* reads in one transaction
          ReadsAgain,    \* reads again until nothing has changed
          Conditional    \* the write requires the version that was read

Items == {1, 2}

VARIABLES amount, version, at, seen, again, writes, history, lost

vars == <<amount, version, at, seen, again, writes, history, lost>>

None == [amount |-> -1, version |-> -1]

Init ==
  /\ amount = [i \in Items |-> IF i = 1 THEN Total ELSE 0]
  /\ version = [i \in Items |-> 0]
  /\ at = [a \in Actors |-> "begin"]
  /\ seen = [a \in Actors |-> [i \in Items |-> None]]
  /\ again = [a \in Actors |-> [i \in Items |-> None]]
  /\ writes = 0
  /\ lost = FALSE
  /\ history = {<<Total, 0>>}

Now(i) == [amount |-> amount[i], version |-> IF amount[i] = 0 THEN -1 ELSE version[i]]

\* A foreign transfer moves everything from one item to the other, in one transaction.
Foreign(i) ==
  /\ writes < Steps
  /\ amount[i] > 0
  /\ amount' = [amount EXCEPT ![i] = 0, ![3 - i] = amount[1] + amount[2]]
  /\ version' = [j \in Items |-> version[j] + 1]
  /\ writes' = writes + 1
  /\ history' = history \cup {<<amount'[1], amount'[2]>>}
  /\ UNCHANGED <<at, seen, again, lost>>

ReadBoth(a) ==
  /\ Transactional
  /\ at[a] = "begin"
  /\ seen' = [seen EXCEPT ![a] = [i \in Items |-> Now(i)]]
  /\ at' = [at EXCEPT ![a] = "decide"]
  /\ UNCHANGED <<amount, version, again, writes, history, lost>>

Read(a, i) ==
  /\ ~Transactional
  /\ at[a] = IF i = 1 THEN "begin" ELSE "read2"
  /\ seen' = [seen EXCEPT ![a][i] = Now(i)]
  /\ at' = [at EXCEPT ![a] = IF i = 1 THEN "read2" ELSE IF ReadsAgain THEN "again1" ELSE "decide"]
  /\ UNCHANGED <<amount, version, again, writes, history, lost>>

Again(a, i) ==
  /\ at[a] = IF i = 1 THEN "again1" ELSE "again2"
  /\ again' = [again EXCEPT ![a][i] = Now(i)]
  /\ at' = [at EXCEPT ![a] =
       IF i = 1 THEN "again2" ELSE IF again'[a] = seen[a] THEN "decide" ELSE "begin"]
  /\ UNCHANGED <<amount, version, seen, writes, history, lost>>

\* The function changes an item, or ends the update. It may do either for any amounts.
Decide(a) ==
  /\ at[a] = "decide"
  /\ at' \in {[at EXCEPT ![a] = "write"], [at EXCEPT ![a] = "ended"]}
  /\ UNCHANGED <<amount, version, seen, again, writes, history, lost>>

Holds(a) == Conditional => Now(2).version = seen[a][2].version

\* It adds one to the second item.
Write(a) ==
  /\ at[a] = "write"
  /\ IF Holds(a)
     THEN /\ version' = [version EXCEPT ![2] = @ + 1]
          /\ amount' = [amount EXCEPT ![2] = seen[a][2].amount + 1]
          /\ history' = history \cup {<<amount'[1], amount'[2]>>}
          /\ lost' = (lost \/ amount[2] # seen[a][2].amount)
          /\ at' = [at EXCEPT ![a] = "ended"]
     ELSE /\ at' = [at EXCEPT ![a] = "begin"]
          /\ UNCHANGED <<version, amount, history, lost>>
  /\ UNCHANGED <<seen, again, writes>>

Next ==
  \/ \E i \in Items : Foreign(i)
  \/ \E a \in Actors : ReadBoth(a) \/ Decide(a) \/ Write(a) \/ \E i \in Items : Read(a, i) \/ Again(a, i)

Spec == Init /\ [][Next]_vars

\* The function sees amounts that existed at one moment.
SeesOneMoment == \A a \in Actors :
  at[a] \in {"decide", "write", "ended"} => <<seen[a][1].amount, seen[a][2].amount>> \in history

\* What it finds existed at one moment.
FoundAtOneMoment == \A a \in Actors :
  at[a] \in {"decide", "write", "ended"} =>
    \E h \in history : \A i \in Items : seen[a][i].amount # 0 => h[i] = seen[a][i].amount

NothingLost == ~lost
=============================================================================
