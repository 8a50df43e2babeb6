package driver

import (
	"context"
	"sync"

	"github.com/tidemarkdb/tidemark/engine"
)

// Event is something an operator may want to see: a recovery, a sealed log
// file, a failed sync.
type Event = engine.Event

// EventEphemeral says that a store in memory has a durable table, which ends with
// the store. It comes once; a listener that comes later gets it first.
const EventEphemeral = engine.EventEphemeral

// EventMemoryFull says that a write did not fit the memory budget. It comes once
// per table.
const EventMemoryFull = engine.EventMemoryFull

// eventBuffer is how many events a slow listener may lag behind.
const eventBuffer = 256

// eventHub hands the engine's events to any number of listeners. The engine
// must never wait for one, so a listener that lags loses the newest events.
type eventHub struct {
	mu        sync.Mutex
	listeners map[chan Event]struct{} // nil once closed
	notice    *Event                  // the EventEphemeral there was, for listeners to come
}

func newEventHub() *eventHub { return &eventHub{listeners: map[chan Event]struct{}{}} }

// publish is called on the engine's goroutines.
func (h *eventHub) publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Kind == EventEphemeral {
		h.notice = &e
	}
	for c := range h.listeners {
		select {
		case c <- e:
		default:
		}
	}
}

// subscribe returns a channel that is closed when ctx ends or the store closes.
func (h *eventHub) subscribe(ctx context.Context) <-chan Event {
	c := make(chan Event, eventBuffer)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil {
		close(c)
		return c
	}
	h.listeners[c] = struct{}{}
	if h.notice != nil {
		c <- *h.notice // there is room
	}
	context.AfterFunc(ctx, func() { h.drop(c) })
	return c
}

// drop ends one subscription.
func (h *eventHub) drop(c chan Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.listeners[c]; ok {
		delete(h.listeners, c)
		close(c)
	}
}

// close ends all subscriptions.
func (h *eventHub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.listeners {
		close(c)
	}
	h.listeners = nil
}
