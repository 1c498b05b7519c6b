import Testing

/// The simulations need processor time only. They run one at a time, so that tests with sockets can run beside them.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SimulationTests {}
