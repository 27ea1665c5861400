------------------------------- MODULE Expiry -------------------------------
(* Elements that expire with the root item (ttl,all), which patches add or    *)
(* replace, and saves that move the expiry of all items that they have read.  *)
(* An adder reads the root item, puts the element with the expiry of it, and  *)
(* reads the root item again. If that has changed, the adder reads the        *)
(* element. If its expiry differs, the adder corrects it in a transaction     *)
(* that requires the expiry of the root item. Then it reads the root item     *)
(* once more. When an adder has succeeded, the element expires with the root  *)
(* item. One case is excused: a mover has not read the element, because it    *)
(* was put later, and writes after the adder has succeeded.                   *)
EXTENDS Integers, FiniteSets

CONSTANTS Adders, Movers, Steps,
          ReadsRootAfter, \* the root item is read after the put
          ReadsAgain,     \* and after each look at the element
          Looks,          \* if the root item has changed, and not just if its expiry differs
          ChecksRoot      \* a correction requires the expiry of the root item

VARIABLES root, element, at, read, late, mover, seenRoot, seenElement, versions, saves, excused, owner

vars == <<root, element, at, read, late, mover, seenRoot, seenElement, versions, saves, excused, owner>>

None == [expiry |-> 0, version |-> 0]

Init ==
  /\ root = [expiry |-> 1, version |-> 1]
  /\ element = None
  /\ at = [a \in Adders |-> "begin"]
  /\ read = [a \in Adders |-> None]  \* the root item as the adder read it last
  /\ late = {}                       \* corrections without an answer, which may still arrive
  /\ mover = [m \in Movers |-> "begin"]
  /\ seenRoot = [m \in Movers |-> None]
  /\ seenElement = [m \in Movers |-> None]
  /\ versions = 1
  /\ saves = 0
  /\ excused = FALSE
  /\ owner = 0                       \* the adder that has put the element last

There == element # None

Read(a) ==
  /\ at[a] = "begin"
  /\ read' = [read EXCEPT ![a] = root]
  /\ at' = [at EXCEPT ![a] = "put"]
  /\ UNCHANGED <<root, element, late, mover, seenRoot, seenElement, versions, saves, excused, owner>>

Put(a) ==
  /\ at[a] = "put"
  /\ element' = [expiry |-> read[a].expiry, version |-> versions + 1]
  /\ versions' = versions + 1
  /\ owner' = a
  /\ at' = [at EXCEPT ![a] = IF ReadsRootAfter THEN "confirm" ELSE "ended"]
  /\ UNCHANGED <<root, read, late, mover, seenRoot, seenElement, saves, excused>>

Confirm(a) ==
  /\ at[a] = "confirm"
  /\ read' = [read EXCEPT ![a] = root]
  /\ LET same == IF Looks THEN root = read[a] ELSE root.expiry = read[a].expiry IN
     at' = [at EXCEPT ![a] = IF same THEN "ended" ELSE "look"]
  /\ UNCHANGED <<root, element, late, mover, seenRoot, seenElement, versions, saves, excused, owner>>

Again == IF ReadsAgain THEN "confirm" ELSE "ended"

Look(a) ==
  /\ at[a] = "look"
  /\ at' = [at EXCEPT ![a] = IF element.expiry = read[a].expiry THEN Again ELSE "correct"]
  /\ UNCHANGED <<root, element, read, late, mover, seenRoot, seenElement, versions, saves, excused, owner>>

Fits(expiry) == There /\ (ChecksRoot => root.expiry = expiry)

Correct(a) ==
  /\ at[a] = "correct"
  /\ IF Fits(read[a].expiry)
     THEN /\ element' = [expiry |-> read[a].expiry, version |-> versions + 1]
          /\ versions' = versions + 1
     ELSE UNCHANGED <<element, versions>>
  /\ at' = [at EXCEPT ![a] = Again] \* for the sake of other elements
  /\ UNCHANGED <<root, read, late, mover, seenRoot, seenElement, saves, excused, owner>>

\* The adder dies, and its correction arrives later.
Die(a) ==
  /\ at[a] \in {"put", "confirm", "look", "correct"}
  /\ late' = IF at[a] = "correct" THEN late \cup {read[a].expiry} ELSE late
  /\ at' = [at EXCEPT ![a] = "dead"]
  /\ UNCHANGED <<root, element, read, mover, seenRoot, seenElement, versions, saves, excused, owner>>

Arrive(c) ==
  /\ c \in late
  /\ late' = late \ {c}
  /\ IF Fits(c)
     THEN /\ element' = [expiry |-> c, version |-> versions + 1]
          /\ versions' = versions + 1
     ELSE UNCHANGED <<element, versions>>
  /\ UNCHANGED <<root, at, read, mover, seenRoot, seenElement, saves, excused, owner>>

\* A load reads the items one after the other: the root item first, or last.
Load(m) ==
  /\ mover[m] = "begin"
  /\ saves < Steps
  /\ \/ /\ seenRoot' = [seenRoot EXCEPT ![m] = root]
        /\ mover' = [mover EXCEPT ![m] = "element"]
        /\ UNCHANGED seenElement
     \/ /\ seenElement' = [seenElement EXCEPT ![m] = element]
        /\ mover' = [mover EXCEPT ![m] = "root"]
        /\ UNCHANGED seenRoot
  /\ UNCHANGED <<root, element, at, read, late, versions, saves, excused, owner>>

LoadRest(m) ==
  /\ mover[m] \in {"element", "root"}
  /\ seenElement' = IF mover[m] = "element" THEN [seenElement EXCEPT ![m] = element] ELSE seenElement
  /\ seenRoot' = IF mover[m] = "root" THEN [seenRoot EXCEPT ![m] = root] ELSE seenRoot
  /\ mover' = [mover EXCEPT ![m] = "save"]
  /\ UNCHANGED <<root, element, at, read, late, versions, saves, excused, owner>>

Knows(m) == seenElement[m] # None

Same(m) ==
  /\ root.version = seenRoot[m].version
  /\ Knows(m) => element.version = seenElement[m].version

\* In one transaction. A refused save ends.
Save(m) ==
  /\ mover[m] = "save"
  /\ mover' = [mover EXCEPT ![m] = "begin"]
  /\ IF Same(m) /\ saves < Steps
     THEN LET to == 3 - seenRoot[m].expiry IN
          /\ root' = [expiry |-> to, version |-> versions + 1]
          /\ element' = IF Knows(m) THEN [expiry |-> to, version |-> versions + 2] ELSE element
          /\ versions' = versions + 2
          /\ saves' = saves + 1
          /\ excused' = (excused \/ (~Knows(m) /\ There /\ \E a \in Adders : at[a] = "ended"))
     ELSE UNCHANGED <<root, element, versions, saves, excused>>
  /\ UNCHANGED <<at, read, late, seenRoot, seenElement, owner>>

Next ==
  \/ \E a \in Adders : Read(a) \/ Put(a) \/ Confirm(a) \/ Look(a) \/ Correct(a) \/ Die(a)
  \/ \E c \in late : Arrive(c)
  \/ \E m \in Movers : Load(m) \/ LoadRest(m) \/ Save(m)

Spec == Init /\ [][Next]_vars

\* If an adder is under way, or its program died after the put, the element may have the former expiry.
Settled == (\A a \in Adders : at[a] \in {"begin", "ended", "dead"}) /\ \E a \in Adders : owner = a /\ at[a] = "ended"

ExpiresWithRoot == Settled /\ ~excused => element.expiry = root.expiry
=============================================================================
