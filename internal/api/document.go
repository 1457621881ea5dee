package api

// The general part of the API document, for swag.
//
//	@title			aiperfd
//	@version		1
//	@description	Benchmarks LLM inference servers. The routes tagged aiperf have the names and shapes of NVIDIA AIPerf 0.13; without an id they refer to the selected run: the active run, otherwise the run that ended last. After submitting a run, ask for it by its id. Errors are RFC 9457 problems.
//	@license.name	Apache-2.0
//	@tag.name		runs
//	@tag.description	Submit, watch, cancel and delete runs
//	@tag.name		aiperf
//	@tag.description	AIPerf's routes, and the same routes for any run by its id
//	@tag.name		service
//	@tag.description	The daemon itself
