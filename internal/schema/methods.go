package schema

// QueryMethods are the methods that generated queries have, and NodeMethods those of all nodes. No item can have a
// method of that name.
var (
	QueryMethods = []string{
		"All", "Collect", "Page", "After", "Count", "Input", "Plan", "Limit", "Refs", "Reverse", "Filter", "Project",
		"Roots", "Between", "Since", "Before", "Year", "Month", "Day", "Hour", "Week",
		"Fetch", "AtLeast", "AtMost", "BeginsWith", "On", "Query",
	}
	NodeMethods = []string{"Patch", "Delete", "Add", "Put", "Map"}
)
