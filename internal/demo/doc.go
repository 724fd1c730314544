// Package demo is the built-in agent that `kernelctl dev` runs: a small
// research assistant on package agent, with a fake model provider on loopback
// and a policy that soon asks for an approval. It is the SDK's first user, and
// the tour in it is the shortest proof of what the service is for: an agent is
// killed half way, and nothing that it did is done twice.
package demo
