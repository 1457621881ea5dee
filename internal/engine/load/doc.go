// Package load performs the phases of a run: it decides when a request is sent, sends
// it, and hands its response on. What it performs is described by package spec. It knows
// neither documents nor endpoint types: conversations come from a [Source], an [Encoder]
// makes requests of their turns, and a [Sender] performs these.
//
// A [Phase] has goroutines for its sessions, one that prepares sessions before they are
// due, and one that waits for the sessions to end; all have ended when [Phase.Run]
// returns. In a closed loop, a fixed number of slots each perform one session after the
// other. In an open loop, arrivals are due at times that do not depend on the server;
// one that finds no free slot waits in a backlog and keeps its due time.
//
// The parts, from the inside:
//
//   - The scheduler decides, and nothing else: slots, prefills, what overlaps with other
//     phases. The timetables say when sessions of replays and users are due. Neither has
//     goroutines, clocks, channels or locks.
//   - The arbiter asks the scheduler, one question at a time; the course has, in addition,
//     the counters and what is over.
//   - A session performs its turns. It shares with the others of its phase the
//     course, the loop that gives them slots, and the limit of prefills.
//   - The pump prepares sessions; the open and the closed loop start them.
//   - The phase makes these parts and ends them in order.
//
// Mutexes are locked in this order, and none is needed that stands before one that is held:
// pump.using, openLoop.mu, pump.drawing, arbiter.mu (that of an earlier phase before that of
// a later one), then those of identities and flights.
//
// The duties of the caller:
//
//  1. It makes one [Work] per run and performs its phases one after the other.
//  2. It calls [Phase.Begin], then [Phase.Run], once each.
//  3. Its [Sink] takes every request that was started. It should not block for long: the
//     requests that wait for it are late.
package load
