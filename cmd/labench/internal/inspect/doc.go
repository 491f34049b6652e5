// Package inspect describes this machine and its speed: labench doctor, list and peak.
//
// findings holds the facts, doctor collects them, diagnose finds what slows the machine down, and doctor_json
// writes both as JSON.
package inspect
