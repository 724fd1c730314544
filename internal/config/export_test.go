package config

// LoadOn is [Load] as on another operating system.
var LoadOn = load
