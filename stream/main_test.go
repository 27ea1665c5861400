package stream_test

import (
	"testing"

	"github.com/itemize/itemize/internal/testing/testengine"
)

func TestMain(m *testing.M) { testengine.Run(m) }
