------------------------------ MODULE Updates ------------------------------
(* Updates of several entities at once (mapper.UpdateAll), and other writers. *)
(* Two items of two entities have amounts. An update reads both, one after    *)
(* the other or in one transaction, and calls its function. The function      *)
(* changes one item, or ends the update, with an error or without a change.   *)
(* It must not act on amounts that did not exist at one moment: a write       *)
(* checks the item that it does not change, and an end without a write is     *)
(* verified by a second read.                                                 *)
EXTENDS Integers, FiniteSets

CONSTANTS Actors, Total, Steps,
          Transactional,   \* reads in one transaction
          ChecksUnwritten, \* the write checks items that were read and are not written
          VerifiesEnds     \* an error, and a function that changes nothing, is verified by a second read

Items == {1, 2}

VARIABLES amount, version, at, seen, again, writes, history

vars == <<amount, version, at, seen, again, writes, history>>

None == [amount |-> -1, version |-> -1]

Init ==
  /\ amount = [i \in Items |-> IF i = 1 THEN Total ELSE 0]
  /\ version = [i \in Items |-> 0]
  /\ at = [a \in Actors |-> "begin"]
  /\ seen = [a \in Actors |-> [i \in Items |-> None]]
  /\ again = [a \in Actors |-> [i \in Items |-> None]]
  /\ writes = 0
  /\ history = {<<Total, 0>>}

Now(i) == [amount |-> amount[i], version |-> version[i]]

\* A foreign transfer moves everything from one item to the other, in one transaction.
Foreign(i) ==
  /\ writes < Steps
  /\ amount[i] > 0
  /\ amount' = [amount EXCEPT ![i] = 0, ![3 - i] = Total]
  /\ version' = [j \in Items |-> version[j] + 1]
  /\ writes' = writes + 1
  /\ history' = history \cup {<<amount'[1], amount'[2]>>}
  /\ UNCHANGED <<at, seen, again>>

ReadBoth(a) ==
  /\ Transactional
  /\ at[a] = "begin"
  /\ seen' = [seen EXCEPT ![a] = [i \in Items |-> Now(i)]]
  /\ at' = [at EXCEPT ![a] = "decide"]
  /\ UNCHANGED <<amount, version, again, writes, history>>

Read(a, i) ==
  /\ ~Transactional
  /\ at[a] = IF i = 1 THEN "begin" ELSE "read2"
  /\ seen' = [seen EXCEPT ![a][i] = Now(i)]
  /\ at' = [at EXCEPT ![a] = IF i = 1 THEN "read2" ELSE "decide"]
  /\ UNCHANGED <<amount, version, again, writes, history>>

\* The function changes an item, or ends the update. It may do either for any amounts.
Decide(a) ==
  /\ at[a] = "decide"
  /\ at' \in {[at EXCEPT ![a] = "write"],
             [at EXCEPT ![a] = IF VerifiesEnds /\ ~Transactional THEN "again1" ELSE "ended"]}
  /\ UNCHANGED <<amount, version, seen, again, writes, history>>

Again(a, i) ==
  /\ at[a] = IF i = 1 THEN "again1" ELSE "again2"
  /\ again' = [again EXCEPT ![a][i] = Now(i)]
  /\ at' = [at EXCEPT ![a] =
       IF i = 1 THEN "again2" ELSE IF again'[a] = seen[a] THEN "ended" ELSE "begin"]
  /\ UNCHANGED <<amount, version, seen, writes, history>>

\* It writes the item that it has read last, on condition of its version, and checks the other one.
Holds(a) ==
  /\ version[2] = seen[a][2].version
  /\ (ChecksUnwritten /\ ~Transactional) => (version[1] = seen[a][1].version)

Write(a) ==
  /\ at[a] = "write"
  /\ IF Holds(a)
     THEN /\ version' = [version EXCEPT ![2] = @ + 1]
          /\ at' = [at EXCEPT ![a] = "ended"]
     ELSE /\ at' = [at EXCEPT ![a] = "begin"]
          /\ UNCHANGED version
  /\ UNCHANGED <<amount, seen, again, writes, history>>

Next ==
  \/ \E i \in Items : Foreign(i)
  \/ \E a \in Actors : ReadBoth(a) \/ Decide(a) \/ Write(a) \/ \E i \in Items : Read(a, i) \/ Again(a, i)

Spec == Init /\ [][Next]_vars

\* An update acts only on amounts that existed at one moment.
ActsOnOneMoment == \A a \in Actors : at[a] = "ended" => <<seen[a][1].amount, seen[a][2].amount>> \in history

SumStays == amount[1] + amount[2] = Total
=============================================================================
