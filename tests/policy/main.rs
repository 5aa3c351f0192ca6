//! The policy store from outside: facts, shipped policies, what is refused, public cases.

#[cfg(test)]
mod approvals;
#[cfg(test)]
mod asked;
#[cfg(test)]
mod asks;
#[cfg(test)]
mod base;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod paths;
#[cfg(test)]
#[cfg(feature = "prove")]
mod prove;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod shipped;
#[cfg(test)]
mod store;
#[cfg(test)]
mod strangers;
#[cfg(test)]
mod told;
