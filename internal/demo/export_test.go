package demo

import (
	"encoding/json"
	"fmt"
)

// Orders are the first n orders that a seed gives.
func Orders(seed, n uint64) ([]string, error) {
	var orders []string
	for i := range n {
		k, o, gap := draw(seed, i)
		input, err := json.Marshal(o.input)
		if err != nil {
			return nil, err
		}
		orders = append(orders, fmt.Sprint(k.agent, k.name, string(input), o.labels, o.then != nil, gap))
	}
	return orders, nil
}

// MaxBlocked is how many executions wait, but for those that were under way when
// the bound of their kind was reached.
func MaxBlocked() (sum int) {
	for _, k := range kinds {
		sum += k.open
	}
	return sum
}
