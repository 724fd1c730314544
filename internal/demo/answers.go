package demo

// The roles that the agents give their models.
const (
	roleAnalyst  = "You are an analyst. Answer in one paragraph, with the sources."
	roleEngineer = "You are on call. Say what is wrong and what to do first."
	roleClerk    = "You are a bookkeeper. Say which accounts are touched, and why."
	roleAgent    = "You answer customers: friendly, short, no promises."
)

// answers are what the models have to say in a role.
var answers = map[string][]string{
	roleAnalyst: {
		"Three of the four sources agree that recovery time, not failure rate, is what customers remember. Teams that record every effect before they act recover in minutes; those that reconstruct what happened from logs need half a day. The outlier counts only outages that reached a status page, so its figures are lower by about a third. None of the sources separates crashes from deployments, which is the first thing to measure ourselves.",
		"Prices in this segment fell by 9 percent over the year, mostly in the second half. The fall is driven by two vendors that bundle storage; without them the decline is 3 percent and within the noise. The survey's sample is small in the south, where the handbook says that most of our renewals are. It is safe to plan with flat prices there and with minus five elsewhere.",
		"The interviews show one pattern: people approve what they understand and postpone the rest. Where the request showed its arguments in full, the median decision took 40 seconds; where it showed a summary, 11 minutes, and one in six was reversed later. The effect is larger at night. I would put the arguments first and the summary second.",
	},
	roleEngineer: {
		"The error rate follows the connection pool and not the traffic: 64 of 64 connections are in use, and the oldest has been idle in a transaction for nine minutes. That began with the release of this morning, which opens a transaction before it calls the payment provider. First restart one instance to free its connections, then roll the release back. Do not raise the pool: the database is at its limit.",
		"Latency at the 99th percentile rose from 180 ms to 2.4 s when the nightly index build overlapped with the batch export. CPU is idle, the disk is not: the write queue is full. The index build can be paused without loss. If it has not caught up in ten minutes, move the export to the replica.",
		"Two replicas disagree about who leads. The clock of the second is 41 s ahead, so it takes every lease of the first for expired. Fix the clock before anything else; restarting makes it worse. After that the backlog of 1,204 messages drains by itself in about six minutes.",
	},
	roleClerk: {
		"The credit note touches revenue 4400 and output tax 1776, and goes against receivables 1200. The invoice was paid in two parts, so the second payment is what is returned. The exchange rate is that of the invoice and not of today: the difference of 1.18 belongs to 2660.",
		"All but two lines match. Line 7 was booked twice, once by the import and once by hand; the later one is to be reversed. Line 19 has no tax code. It is freight inside the union, so code 9 applies. Debit and credit are then equal at 48,210.55.",
	},
	roleAgent: {
		"Thank you for writing, and I am sorry for the trouble. The export stopped because the session had expired; nothing was lost, and a new export will contain all rows. I have taken the old one out of the queue so that it does not come twice. If it stops again, the time at which it happened would help us most.",
		"Thank you for the invoice number, which made this easy to find. The amount was charged once; the second line in your statement is a reservation that your bank releases by itself, usually within three working days. If it is still there on Friday, write back and we will ask the bank for you.",
		"You are right, and the page is wrong: the limit is per workspace and not per user. I have told the people who keep that page. With your plan nothing changes, and there is nothing that you need to do.",
	},
}
