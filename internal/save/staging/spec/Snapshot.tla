------------------------------ MODULE Snapshot ------------------------------
(* A read model is made from nothing: of a table with entities that writers   *)
(* change all the time, and of its change stream. First the position in the   *)
(* stream is fixed, then the table is scanned, each entity at another moment, *)
(* and then the records after the position are applied. A scan that ends with *)
(* its worker begins again, at the same position, and the read model keeps    *)
(* what it has.                                                               *)
(*   When all records are applied, the read model is equal to the table.      *)
EXTENDS Integers, Sequences

CONSTANTS Keys, Values, Writes, Crashes,
          PositionFirst,  \* the position is fixed before the scan begins
          ScanFirst,      \* records are applied after the scan has ended
          SamePosition    \* a scan that begins again keeps the position

VARIABLES table, stream, view, phase, position, scanned, read, crashes

vars == <<table, stream, view, phase, position, scanned, read, crashes>>

Missing == 0
NoRead == -1

Init ==
  /\ table \in [Keys -> {Missing, 1}]
  /\ stream = <<>>
  /\ view = [k \in Keys |-> Missing]
  /\ phase = "new"                 \* new, scanning, applying
  /\ position = 0
  /\ scanned = {}
  /\ read = [k \in Keys |-> NoRead]  \* the entity that the scan has read and not shown yet
  /\ crashes = 0

Write(k, v) ==
  /\ Len(stream) < Writes
  /\ table[k] # v
  /\ table' = [table EXCEPT ![k] = v]
  /\ stream' = Append(stream, [key |-> k, value |-> v])
  /\ UNCHANGED <<view, phase, position, scanned, read, crashes>>

Begin ==
  /\ phase = "new"
  /\ phase' = "scanning"
  /\ position' = Len(stream)
  /\ UNCHANGED <<table, stream, view, scanned, read, crashes>>

Scan(k) ==
  /\ phase = "scanning"
  /\ k \notin scanned
  /\ read[k] = NoRead
  /\ read' = [read EXCEPT ![k] = table[k]]
  /\ UNCHANGED <<table, stream, view, phase, position, scanned, crashes>>

(* The handler is called for each entity that the scan has found. *)
Show(k) ==
  /\ phase = "scanning"
  /\ read[k] # NoRead
  /\ view' = IF read[k] = Missing THEN view ELSE [view EXCEPT ![k] = read[k]]
  /\ read' = [read EXCEPT ![k] = NoRead]
  /\ scanned' = scanned \cup {k}
  /\ UNCHANGED <<table, stream, phase, position, crashes>>

EndScan ==
  /\ phase = "scanning"
  /\ scanned = Keys
  /\ phase' = "applying"
  /\ position' = IF PositionFirst THEN position ELSE Len(stream)
  /\ UNCHANGED <<table, stream, view, scanned, read, crashes>>

Crash ==
  /\ phase = "scanning"
  /\ crashes < Crashes
  /\ crashes' = crashes + 1
  /\ scanned' = {}
  /\ read' = [k \in Keys |-> NoRead]
  /\ position' = IF SamePosition THEN position ELSE Len(stream)
  /\ UNCHANGED <<table, stream, view, phase>>

Apply ==
  /\ phase = "applying" \/ (~ScanFirst /\ phase = "scanning")
  /\ position < Len(stream)
  /\ LET r == stream[position + 1] IN view' = [view EXCEPT ![r.key] = r.value]
  /\ position' = position + 1
  /\ UNCHANGED <<table, stream, phase, scanned, read, crashes>>

Next ==
  \/ Begin \/ EndScan \/ Crash \/ Apply
  \/ \E k \in Keys : Scan(k) \/ Show(k) \/ \E v \in Values \cup {Missing} : Write(k, v)

Spec == Init /\ [][Next]_vars

Complete == phase = "applying" /\ position = Len(stream) => view = table
=============================================================================
