import Testing

/// They only compute: one at a time, so that they leave a core to the tests that wait for sockets.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SimulationTests {}
