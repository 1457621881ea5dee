// Package load performs the phases of a run: it decides when a request is sent, sends
// it, and hands its response on.
//
// A [Phase] has goroutines for its sessions, one that prepares sessions before they are
// due, and one that waits for the sessions to end; all have ended when [Phase.Run]
// returns. In a closed loop, a fixed number of slots each perform one session after the
// other. In an open loop, arrivals are due at times that do not depend on the server;
// one that finds no free slot waits in a backlog and keeps its due time.
//
// The duties of the caller:
//
//  1. It makes one [Work] per run and performs its phases one after the other.
//  2. It calls [Phase.Begin], then [Phase.Run], once each.
//  3. Its [Sink] takes every request that was started. It should not block for long: the
//     requests that wait for it are late.
package load
