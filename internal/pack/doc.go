// Package pack encodes bodies for the disk. A large body is compressed; and of
// one that repeats an earlier body of the same execution, as every LLM call
// repeats the conversation so far, only what is new is stored, with references
// to where the rest lies. A packed body gives back the very same bytes.
//
// References are one deep: they name bytes that an earlier body stored itself,
// never bytes that it refers to in turn. So a body is read with one look-up a
// source, however long the conversation is.
//
// The package is pure: whatever a body refers to is handed in.
package pack
