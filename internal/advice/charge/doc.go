// Package charge computes the price of single requests from the items that they write and read, and the
// traffic that partitions serve. Package cost has the rules of sizes and units.
package charge
