package fakedynamo

import "testing"

// The models of the tests are models.
func TestModels(t *testing.T) {
	Of[Shop](t)
	Of[Plain](t)
	Of[Session](t)
	Of[Lease](t)
	Of[Topic](t)
	Of[Ledger](t)
}
