package kernel

// StepKind is what a step does.
type StepKind uint8

// The kinds of step.
const (
	ToolCall StepKind = iota + 1
	LLMCall
	Local
)

func (k StepKind) String() string {
	switch k {
	case ToolCall:
		return "tool_call"
	case LLMCall:
		return "llm_call"
	case Local:
		return "local"
	}
	return "unknown"
}

// ParseStepKind reads the wire name of a kind.
func ParseStepKind(s string) (StepKind, bool) {
	switch s {
	case "tool_call":
		return ToolCall, true
	case "llm_call":
		return LLMCall, true
	case "local":
		return Local, true
	}
	return 0, false
}
