package migrate

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/itemize/itemize/internal/door"
	"github.com/itemize/itemize/internal/migration/report"
)

func init() {
	door.Migrate.Tables = func(layout any) (names []string) {
		for _, t := range layout.(*Layout).of.Tables {
			names = append(names, t.Name)
		}
		return names
	}
	door.Migrate.Plan = func(plan any) *report.Plan { return plan.(*Plan).full }
	door.Migrate.OnProgress = func(f func(report.Progress)) any {
		return optionFunc(func(o *options) {
			o.progress = append(o.progress, func(_ Report, p report.Progress) { f(p) })
		})
	}
	door.Migrate.KeyOf = func(ctx context.Context, migration any, values []string) (map[string]types.AttributeValue,
		error,
	) {
		return migration.(*Migration).keyOf(ctx, values)
	}
}
