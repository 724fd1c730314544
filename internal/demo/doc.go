// Package demo holds the built-in agents, written on package agent: its first
// users.
//
// The demo agent, which `kernelctl dev` runs, is a small research assistant with
// a fake model provider on loopback and a policy that soon asks for an approval.
// The tour with it is the shortest proof of what the service is for: an agent is
// killed half way, and nothing that it did is done twice.
//
// The company is what `kernelctl dev --ui` shows: four agents with more to do
// than one can watch, and all that can happen to their work.
package demo
