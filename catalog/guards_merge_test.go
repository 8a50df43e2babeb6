package catalog

import (
	"fmt"
	"strings"
)

// stopWaiting lets the timeline's head move.
const stopWaiting = `DELETE FROM completed_merge_waiting`

// forgetMerge removes the merge of the fixture.
var forgetMerge = fmt.Sprintf(`BEGIN; %s; DELETE FROM completed_merges; DELETE FROM completed_merge_outputs; DELETE FROM owner_blobs WHERE owner_id = %d; COMMIT`, stopWaiting, fixMerge)

// mergeCases are about the merges that timelines share.
func mergeCases() []guardCase {
	const owner, other = fixFree, fixFree + 1
	rooted := []string{newOwner("cache"), fmt.Sprintf(`INSERT INTO owner_blobs VALUES (%d, %d), (%d, %d)`, owner, fixBaseBlob, owner, fixIndexBlob)}
	one := append(rooted[:2:2], merge(2, owner, 0))
	two := append(rooted[:2:2], merge(2, owner, 1), addOutput(2, 0, owner, fixBaseBlob))
	// The job's owner is another one that roots the object's blob.
	again := strings.NewReplacer("x'01', x'02'", "x'03', x'04'").Replace(merge(1, owner, 0))
	gone := []string{stopWaiting, `DELETE FROM completed_merges`}
	quarantined := append(one[:3:3], objectUpdate(fixBase, "state = 'quarantined'"))
	move := []string{
		fmt.Sprintf(`INSERT INTO representations VALUES (%d, %d, %d, 1, 0, zeroblob(16))`, other, fixWorld, fixIndexState),
		fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixOwner, other)}
	moved := fmt.Sprintf(`UPDATE timelines SET head_representation_id = %d, revision = revision + 1 WHERE timeline_id = %d`, other, fixTimeline)
	return []guardCase{
		{"merge", rooted, merge(2, owner, 0), "", ""},
		{"merge of a key that is used", rooted, again, CodeDuplicate, "completed_merges"},
		{"merge of an owner that has one", nil, merge(2, fixMerge, 0), CodeDuplicate, "completed_merges"},
		{"merge replaced", nil, `INSERT OR REPLACE INTO completed_merges SELECT * FROM completed_merges`, CodeDuplicate, "completed_merges"},
		{"merge edited", nil, `UPDATE completed_merges SET recipe = x'05'`, CodeImmutable, "completed_merges"},
		{"merge of a retiring owner", append(rooted[:1:1], fmt.Sprintf(`UPDATE owners SET state = 'retiring', revision = revision + 1 WHERE owner_id = %d`, owner)),
			merge(2, owner, 0), CodeOwner, "active owner"},
		{"merge of a job", []string{newOwner("job")}, merge(2, owner, 0), CodeForeignKey, ""},
		{"merge that somebody waits for deleted", nil, gone[1], CodeForeignKey, ""},
		{"merge deleted", gone[:1], gone[1], "", ""},

		{"output", one, addOutput(2, 0, owner, fixBaseBlob), "", ""},
		{"output edited", nil, `UPDATE completed_merge_outputs SET contribution = x'01'`, CodeImmutable, "completed_merge_outputs"},
		{"output replaced", nil, `INSERT OR REPLACE INTO completed_merge_outputs SELECT * FROM completed_merge_outputs`, CodeDuplicate, "completed_merge_outputs"},
		{"output leaves a gap", append(rooted[:2:2], merge(2, owner, 1)), addOutput(2, 1, owner, fixBaseBlob), CodeMerge, "in order"},
		{"second output", two, addOutput(2, 1, owner, fixBaseBlob), "", ""},
		{"output too many", append(one[:3:3], addOutput(2, 0, owner, fixBaseBlob)), addOutput(2, 1, owner, fixBaseBlob), CodeMerge, "so many outputs"},
		{"output that nothing roots", append(rooted[:1:1], merge(2, owner, 0)), addOutput(2, 0, owner, fixBaseBlob), CodeMerge, "root the output first"},
		{"output that another owner roots", append(rooted[:1:1], merge(2, owner, 0)), addOutput(2, 0, fixMerge, fixBaseBlob), "", ""}, // COMMIT refuses it
		{"output without fragments", one, addOutput(2, 0, owner, fixIndexBlob), CodeMerge, "base object"},
		{"output that is quarantined", quarantined, addOutput(2, 0, owner, fixBaseBlob), CodeMerge, "base object"},
		{"output deleted", nil, `DELETE FROM completed_merge_outputs`, CodeImmutable, "behind its merge"},
		{"output deleted in metadata gc", []string{gate}, `DELETE FROM completed_merge_outputs`, CodeImmutable, "behind its merge"},
		{"output of a merge that is gone deleted", gone, `DELETE FROM completed_merge_outputs`, "", ""},

		{"timeline waits", []string{stopWaiting}, waitingFor(fixTimeline, 1), "", ""},
		{"timeline waits for two", one, waitingFor(fixTimeline, 2), CodeDuplicate, "waits for a merge already"},
		{"timeline waits for nothing", []string{stopWaiting}, waitingFor(fixTimeline, 3), CodeForeignKey, ""},
		{"waiting edited", nil, fmt.Sprintf(`UPDATE completed_merge_waiting SET cache_key = %s`, mergeKey(2)), CodeImmutable, "completed_merge_waiting"},
		{"waiting replaced", nil, `INSERT OR REPLACE INTO completed_merge_waiting SELECT * FROM completed_merge_waiting`, CodeDuplicate, "waits for a merge already"},
		{"timeline stops waiting", nil, stopWaiting, "", ""},
		{"head of a timeline that waits moved", move, moved, CodeMerge, "that it is to leave"},
		{"head of a timeline that does not wait moved", append(move[:2:2], stopWaiting), moved, "", ""},
		{"revision of a timeline that waits", nil, `UPDATE timelines SET revision = revision + 1`, "", ""},
	}
}
