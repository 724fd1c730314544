package tui

// diffLine is a line of two texts side by side: equal, changed, or only in one.
type diffLine struct {
	left, right string
	same        bool
}

// maxDiff bounds the lines of each text that are compared; the work grows with
// their product.
const maxDiff = 1500

// diffLines puts two texts side by side, by their longest common subsequence.
func diffLines(a, b []string) []diffLine {
	var out []diffLine
	// Equal beginnings and ends are most of what is compared.
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out = append(out, diffLine{a[0], b[0], true})
		a, b = a[1:], b[1:]
	}
	var tail []diffLine
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, diffLine{a[len(a)-1], b[len(b)-1], true})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) > maxDiff || len(b) > maxDiff {
		out = append(out, pairs(a, b)...)
	} else {
		out = append(out, lcs(a, b)...)
	}
	for i := len(tail) - 1; i >= 0; i-- {
		out = append(out, tail[i])
	}
	return out
}

// pairs puts what differs side by side as it comes.
func pairs(a, b []string) []diffLine {
	var out []diffLine
	for i := range max(len(a), len(b)) {
		var l diffLine
		if i < len(a) {
			l.left = a[i]
		}
		if i < len(b) {
			l.right = b[i]
		}
		l.same = i < len(a) && i < len(b) && l.left == l.right
		out = append(out, l)
	}
	return out
}

func lcs(a, b []string) []diffLine {
	// n[i][j] is the length for a[i:] and b[j:].
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	var out []diffLine
	i, j := 0, 0
	fromA, fromB := 0, 0
	flush := func() {
		out = append(out, pairs(a[fromA:i], b[fromB:j])...)
	}
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			flush()
			out = append(out, diffLine{a[i], b[j], true})
			i, j = i+1, j+1
			fromA, fromB = i, j
		case n[i+1][j] >= n[i][j+1]:
			i++
		default:
			j++
		}
	}
	i, j = len(a), len(b)
	flush()
	return out
}
