package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"aiperfd/internal/api/wire"
	"aiperfd/internal/run"
)

// getCluster serves the load generators that have joined.
//
//	@Summary		Get the workers of the cluster
//	@Description	The load generators that have joined, by name. One that has sent nothing for ten seconds is lost; it stays in the list for ten minutes.
//	@Tags			cluster
//	@Success		200	{object}	wire.Cluster
//	@Router			/api/cluster [get]
func (s *service) getCluster(w http.ResponseWriter, _ *http.Request) error {
	out := wire.Cluster{Enabled: s.Cluster != nil, Workers: []run.Worker{}}
	if s.Cluster != nil {
		out.Workers = s.Cluster.Workers()
	}
	return s.out.WriteJSON(w, http.StatusOK, out)
}

// getWorker serves a load generator.
//
//	@Summary	Get a worker of the cluster
//	@Tags		cluster
//	@Param		worker	path		string	true	"Name or id"
//	@Success	200		{object}	run.Worker
//	@Failure	404		{object}	wire.Problem
//	@Router		/api/cluster/workers/{worker} [get]
func (s *service) getWorker(w http.ResponseWriter, r *http.Request) error {
	if s.Cluster == nil {
		return run.ErrNoWorker
	}
	name, all := chi.URLParam(r, "worker"), s.Cluster.Workers()
	at := slices.IndexFunc(all, func(of run.Worker) bool { return of.ID == name || of.Name == name })
	if at < 0 {
		return run.ErrNoWorker
	}
	return s.out.WriteJSON(w, http.StatusOK, &all[at])
}

// drainWorker makes a load generator take no further run.
//
//	@Summary		Drain a worker of the cluster
//	@Description	It finishes the part of a run that it performs, and takes no further run until its process or the daemon is started again. It is safe to repeat the request.
//	@Tags			cluster
//	@Param			worker	path		string	true	"Name or id"
//	@Success		200		{object}	run.Worker
//	@Failure		404		{object}	wire.Problem
//	@Router			/api/cluster/workers/{worker}/drain [post]
func (s *service) drainWorker(w http.ResponseWriter, r *http.Request) error {
	if s.Cluster == nil {
		return run.ErrNoWorker
	}
	out, err := s.Cluster.Drain(chi.URLParam(r, "worker"))
	if err != nil {
		return err
	}
	return s.out.WriteJSON(w, http.StatusOK, &out)
}

// clusterCollector collects the metrics of the load generators that have joined.
type clusterCollector struct {
	cluster Cluster
	since   time.Time // the counters are 0 then
}

// Describe implements prometheus.Collector. It sends nothing: Collect makes the descriptions.
func (*clusterCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *clusterCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(name, help, label, value string, v float64) {
		desc := prometheus.NewDesc(name, help, []string{label}, nil)
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, value)
	}
	counter := func(name, help, kind string, v int64) {
		desc := prometheus.NewDesc(name, help, []string{"kind"}, nil)
		out <- prometheus.MustNewConstMetricWithCreatedTimestamp(desc, prometheus.CounterValue, float64(v), c.since, kind)
	}
	const second = 1e3 // milliseconds
	states := map[string]int{}
	for _, w := range c.cluster.Workers() {
		states[w.State]++
		gauge("aiperfd_cluster_lanes",
			"Lanes of the load of its run that a worker performs, of 65,536; 0 if it performs none.", "worker", w.Name, float64(w.Lanes))
		gauge("aiperfd_worker_snapshot_age_seconds", "Time since the last message of a worker.",
			"worker", w.Name, time.Since(w.Heard).Seconds())
		if w.ClockBound != nil {
			gauge("aiperfd_worker_clock_bound_seconds",
				"How far the clock of a worker may be from what the controller takes it for.",
				"worker", w.Name, *w.ClockBound/second)
		}
		if w.StartSkew != nil {
			gauge("aiperfd_worker_start_skew_seconds",
				"By how much a worker began a phase of its run before or after the time that was agreed on, at most.",
				"worker", w.Name, *w.StartSkew/second)
		}
	}
	for _, state := range run.WorkerStates() {
		gauge("aiperfd_cluster_workers", "Workers that have joined, by state.", "state", state, float64(states[state]))
	}
	for _, of := range c.cluster.Traffic() {
		counter("aiperfd_bus_messages_total",
			"Messages between the controller and workers, with answers.", of.Kind, of.Messages)
		counter("aiperfd_bus_bytes_total",
			"Bytes of the messages between the controller and workers, with answers.", of.Kind, of.Bytes)
	}
}
